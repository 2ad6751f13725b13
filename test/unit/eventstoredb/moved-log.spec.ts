import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { NewEvent, RecordedEvent } from '@countersign/contracts';
import { noStream, openEmbeddedEventStore } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { readable, sampleEvent } from '@countersign/event-store/testing';
import { openNotary } from '@countersign/notary';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { expect, it } from '@jest/globals';
import { cleanUpAfterEach, onCleanUp, openReadyStore, patient, startServer } from './harness.ts';

cleanUpAfterEach();

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-moved-'));
  onCleanUp(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

async function openEmbedded(): Promise<EventStore> {
  const store = await openEmbeddedEventStore({ folder: temporaryFolder(), log: createSilentLog(), clock: systemClock });
  onCleanUp(() => store.close());
  return store;
}

async function openServed(): Promise<EventStore> {
  const { store } = await openReadyStore((await startServer()).url, patient);
  return store;
}

/** Events of two tenants in several streams, with all that JSON allows. */
async function record(store: EventStore): Promise<void> {
  const reasons = ['a', '\u20ac \u{1f600}', '"quoted" \\ \u0007', '1e21'];
  for (const [nth, reason] of reasons.entries()) {
    const event = (tenant: string): NewEvent => {
      const made = sampleEvent(reason);
      return { ...made, metadata: { ...made.metadata, tenant } };
    };
    await store.append(`toolCall-${String(nth)}`, noStream, [event('acme'), event('acme')]);
    await store.append(`toolCall-other-${String(nth)}`, noStream, [event('zeta')]);
    await store.append(`toolCall-${String(nth)}`, 1, [event('acme')]);
  }
}

/** The event as it is written to another store: with the time of its first record. */
function moved({ eventId, type, data, metadata, recordedAt }: RecordedEvent): NewEvent {
  return { eventId, type, data, metadata: { ...metadata, moved: metadata.moved ?? { recordedAt } } };
}

async function move(from: EventStore, to: EventStore): Promise<void> {
  for (const event of readable(await from.readAll(0, 1000)))
    await to.append(event.stream, event.revision - 1, [moved(event)]);
}

/** The checkpoints of both tenants, signed over what the store has. */
async function checkpointsOf(store: EventStore, logKeyFile: string): Promise<readonly unknown[]> {
  const notary = openNotary({
    ...{
      folder: temporaryFolder(),
      logKeyFile,
      logSigner: null,
      origin: null,
      sinks: [],
      store,
      acceptsContradiction: false,
    },
    ...{ clock: systemClock, log: createSilentLog() },
  });
  const signed = [await notary.sign('acme'), await notary.sign('zeta')];
  await notary.stop();
  // ML-DSA-44 signs with random bytes: the signatures of Ed25519 alone are the same again.
  return signed.map((one) =>
    one.status === 'signed' ? { ...one, note: one.note.split('\n').slice(0, 5).join('\n') } : one,
  );
}

it.each([
  { from: 'the embedded store', to: 'EventStoreDB', opens: [openEmbedded, openServed] },
  { from: 'EventStoreDB', to: 'the embedded store', opens: [openServed, openEmbedded] },
] as const)('a log that moves from $from to $to keeps its tree, origin and checkpoints', async ({ opens }) => {
  const keyFile = join(temporaryFolder(), 'log-key.pem');
  writeFileSync(keyFile, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }), {
    mode: 0o600,
  });
  const [first, second, third] = [await opens[0](), await opens[1](), await opens[0]()];
  await record(first);
  // The second store records at other times, and its readers get the first ones.
  await delay(5);
  await move(first, second);
  await move(second, third);
  const signed = await checkpointsOf(first, keyFile);
  expect(signed).toEqual([
    { status: 'signed', note: expect.stringMatching(/\/acme\/1\n12\n/) },
    { status: 'signed', note: expect.stringMatching(/\/zeta\/1\n4\n/) },
  ]);
  expect(await checkpointsOf(second, keyFile)).toEqual(signed);
  expect(await checkpointsOf(third, keyFile)).toEqual(signed);
  const times = (store: EventStore) => store.readAll(0, 1000).then((events) => events.map((one) => one.recordedAt));
  expect(await times(second)).toEqual(await times(first));
});
