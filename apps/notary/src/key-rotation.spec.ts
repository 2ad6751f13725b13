import { formatVkey, keyChangeOf, parseNote, readKeyChanges, verifyNote } from '@countersign/audit';
import type { ProofFileEvent } from '@countersign/audit';
import { systemStream } from '@countersign/contracts';
import type { NewEvent } from '@countersign/contracts';
import { createSimulatedEventStore, createSimulatedLog, sampleEvent } from '@countersign/event-store/testing';
import type { SimulatedLog } from '@countersign/event-store/testing';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createSeedSigner } from './log-signer.js';
import type { LogSigner } from './log-signer.js';
import { createNotary } from './notary.js';
import type { Notary } from './notary.js';
import type { NotaryPorts } from './ports.js';
import { pushLog } from './sinks/push-log.js';
import type { Sink } from './sinks/sink.js';
import { openCheckpointFile } from './sqlite/checkpoint-file.js';
import { openTreeFile } from './sqlite/tree-file.js';

const [old, next, third] = [7, 8, 9].map((byte) => createSeedSigner(new Uint8Array(32).fill(byte))) as [
  LogSigner,
  LogSigner,
  LogSigner,
];
const origin = 'countersign.example/acme/1';
const stream = systemStream('acme', 'process1');

/** What outlives a process. */
const createFolder = () => ({ trees: openTreeFile(':memory:'), checkpoints: openCheckpointFile(':memory:') });
type Folder = ReturnType<typeof createFolder>;

const running = new Set<Notary>();
afterEach(async () => {
  await Promise.all([...running].map((notary) => notary.stop()));
  running.clear();
});

function storeOf(log: SimulatedLog) {
  return createSimulatedEventStore({ clock: createVirtualClock(), log });
}

async function record(log: SimulatedLog, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    const event = sampleEvent();
    const metadata = { ...event.metadata, tenant: 'acme' };
    await storeOf(log).append(`toolCall-${event.eventId}`, -1, [{ ...event, metadata }]);
  }
}

/** Records as the log of record of a process does: the event that is its last one is not recorded again. */
function recorder(log: SimulatedLog): NonNullable<NotaryPorts['rotation']>['record'] {
  return async (tenant, keys) => {
    const recorded = await storeOf(log).readStream(stream);
    const last = recorded.at(-1)?.data as { before?: string; after?: string } | undefined;
    const place = { stream, revision: recorded.length - 1 };
    if (last?.before === keys.before && last.after === keys.after) return place;
    const data = { processId: 'process1', ...keys, changedAt: '2026-11-27T10:00:00.000Z' };
    const eventId = `00000000-0000-5000-8000-00000000000${String(recorded.length)}`;
    const metadata = { tenant, callId: null, runId: null, schemaVersion: 2, commandId: eventId };
    const event: NewEvent = { eventId, type: 'LogKeyChanged', data, metadata };
    await storeOf(log).append(stream, place.revision, [event]);
    return { stream, revision: recorded.length };
  };
}

function start(folder: Folder, log: SimulatedLog, signer: LogSigner, previous?: LogSigner) {
  const clock = createVirtualClock();
  const rotation: NotaryPorts['rotation'] = previous && { previous, record: recorder(log) };
  const notary = createNotary({
    ...{ ...folder, store: createSimulatedEventStore({ clock, log }), clock, signer, rotation },
    ...{ origin: 'countersign.example', acceptsContradiction: false, log: createSilentLog() },
  });
  notary.start();
  running.add(notary);
  const stop = async (): Promise<void> => {
    running.delete(notary);
    await notary.stop();
  };
  return { notary, clock, stop };
}

/** A log of which the old key signed. */
async function signedLog(): Promise<{ readonly log: SimulatedLog; readonly folder: Folder }> {
  const [log, folder] = [createSimulatedLog(), createFolder()];
  await record(log, 3);
  const { notary, stop } = start(folder, log, old);
  await notary.sign('acme');
  await stop();
  return { log, folder };
}

const changesOf = ({ log }: { readonly log: SimulatedLog }) =>
  log.events.filter(({ type }) => type === 'LogKeyChanged');

/** Which of the keys signed a note. */
async function signersOf(note: string | undefined): Promise<readonly string[]> {
  const named = { old, next, third };
  const found: string[] = [];
  for (const [name, signer] of Object.entries(named)) {
    if (verifyNote(parseNote(note ?? '')!, [await signer.keyOf(origin)]).verified.length > 0) found.push(name);
  }
  return found;
}

/** Signs until nothing is left to do: first the event of the change is recorded, then the tree has it. */
async function rotated(notary: Notary): Promise<string | undefined> {
  await notary.sign('acme');
  await notary.sign('acme');
  return notary.newest('acme');
}

describe('a planned change of the log key', () => {
  it('records the event, signs with both keys once, and goes on in the epoch with the new one', async () => {
    const { log, folder } = await signedLog();
    const { notary, stop } = start(folder, log, next, old);
    const note = await rotated(notary);
    expect(note?.split('\n').slice(0, 2)).toEqual([origin, '4']);
    expect(await signersOf(note)).toEqual(['old', 'next']);
    expect(changesOf({ log })).toHaveLength(1);
    expect(notary.health()).toEqual({ status: 'ok' });
    await record(log, 1);
    await notary.sign('acme');
    expect(await signersOf(notary.newest('acme'))).toEqual(['next']);
    await stop();
    await record(log, 1);
    const later = start(folder, log, next);
    await later.notary.sign('acme');
    expect(await signersOf(later.notary.newest('acme'))).toEqual(['next']);
    expect(changesOf({ log })).toHaveLength(1);
  });

  it('is done at a start without any other new event, within 10 s', async () => {
    const { log, folder } = await signedLog();
    const { notary, clock } = start(folder, log, next, old);
    for (let passed = 0; passed < 10_500; passed += 100) await clock.advanceAsync(100);
    expect(await signersOf(notary.newest('acme'))).toEqual(['old', 'next']);
  });

  it('keeps a proof that a verifier accepts, and the keys of before', async () => {
    const { log, folder } = await signedLog();
    const { notary, stop } = start(folder, log, next, old);
    await notary.sign('acme');
    const before = await notary.vkeys('acme');
    await rotated(notary);
    const [change] = readKeyChanges(notary.keyChanges('acme'));
    expect(change).toMatchObject({ origin, size: 4, before: await old.keyOf(origin), after: await next.keyOf(origin) });
    const vkeys = await notary.vkeys('acme');
    expect(vkeys).toEqual([...(await vkeysOf(next)), ...(await vkeysOf(old))]);
    expect(before).toEqual(vkeys.slice(2));
    expect(change?.mlDsa).toEqual({ before: await old.mlDsaKeyOf(origin), after: await next.mlDsaKeyOf(origin) });
    expect(await signersOf(notary.newest('acme'))).toEqual(['old', 'next']);
    expect(parseNote(notary.newest('acme')!)?.signatures).toHaveLength(4);
    await stop();
    const later = start(folder, log, next);
    await later.notary.sign('acme');
    expect(await later.notary.vkeys('acme')).toEqual(vkeys);
    expect(later.notary.keyChanges('acme')).toHaveLength(1);
  });

  it.each([
    ['the event is recorded', 1],
    ['the event is recorded twice over', 2],
  ])('goes on after a crash when %s and nothing is signed', async (_when, crashes) => {
    const { log, folder } = await signedLog();
    const keys = await keysOf(old, next);
    for (let crash = 0; crash < crashes; crash += 1) await recorder(log)('acme', keys);
    const { notary } = start(folder, log, next, old);
    expect(await signersOf(await rotated(notary))).toEqual(['old', 'next']);
    expect(changesOf({ log })).toHaveLength(1);
  });

  it('goes on with the old key when it is put back before anything is signed, and is done later', async () => {
    const { log, folder } = await signedLog();
    await recorder(log)('acme', await keysOf(old, next));
    const back = start(folder, log, old);
    await back.notary.sign('acme');
    expect(await signersOf(back.notary.newest('acme'))).toEqual(['old']);
    await back.stop();
    const { notary } = start(folder, log, next, old);
    expect(await signersOf(await rotated(notary))).toEqual(['old', 'next']);
    expect(readKeyChanges(notary.keyChanges('acme'))).toHaveLength(1);
    expect(changesOf({ log })).toHaveLength(1);
  });

  it('refuses the old key after the change, although it signed the checkpoint of the change', async () => {
    const { log, folder } = await signedLog();
    const world = start(folder, log, next, old);
    await rotated(world.notary);
    await world.stop();
    await record(log, 1);
    const { notary } = start(folder, log, old);
    expect(await notary.sign('acme')).toMatchObject({
      status: 'unavailable',
      why: expect.stringMatching(/^log-key-changed/),
    });
    expect(await signersOf(notary.newest('acme'))).toEqual(['old', 'next']);
  });

  it('refuses a key that is neither the one before nor the present one', async () => {
    const { log, folder } = await signedLog();
    await record(log, 1);
    const { notary } = start(folder, log, next, third);
    expect(await notary.sign('acme')).toMatchObject({
      status: 'unavailable',
      why: expect.stringMatching(/^log-key-changed/),
    });
    expect(changesOf({ log })).toEqual([]);
  });

  it('may follow another one, and lead back to the first key', async () => {
    const { log, folder } = await signedLog();
    for (const [signer, previous] of [
      [next, old],
      [third, next],
      [old, third],
      [next, old],
    ] as const) {
      const { notary, stop } = start(folder, log, signer, previous);
      await rotated(notary);
      await stop();
    }
    expect(changesOf({ log })).toHaveLength(4);
    const { notary } = start(folder, log, next);
    await notary.sign('acme');
    expect(readKeyChanges(notary.keyChanges('acme')).map(({ size }) => size)).toEqual([4, 5, 6, 7]);
    expect(notary.health()).toEqual({ status: 'ok' });
    const all = [await vkeysOf(next), await vkeysOf(old), await vkeysOf(third)];
    expect(await notary.vkeys('acme')).toEqual(all.flat());
  });

  it('goes on from a log that Ed25519 alone signed, and from a key with ML-DSA-44 to one without it', async () => {
    const alone = (signer: LogSigner): LogSigner => ({
      keyOf: signer.keyOf,
      mlDsaKeyOf: () => Promise.resolve(undefined),
      sign: async (...given) => (await signer.sign(...given)).slice(0, 1),
    });
    const [log, folder] = [createSimulatedLog(), createFolder()];
    await record(log, 3);
    const first = start(folder, log, alone(old));
    await first.notary.sign('acme');
    const kept = parseNote(first.notary.newest('acme')!)!.signatures;
    await first.stop();
    await record(log, 1);
    const second = start(folder, log, old);
    await second.notary.sign('acme');
    const both = parseNote(second.notary.newest('acme')!)!.signatures;
    expect([kept.length, both.length]).toEqual([1, 2]);
    await second.stop();
    const { notary } = start(folder, log, alone(next), old);
    await rotated(notary);
    const [change] = readKeyChanges(notary.keyChanges('acme'));
    expect(change?.mlDsa).toEqual({ before: await old.mlDsaKeyOf(origin), after: undefined });
    expect(changesOf({ log })[0]?.data).toMatchObject({ mlDsa: { after: null } });
  });

  it('leaves a log alone that has no checkpoint of the old key', async () => {
    const [log, folder] = [createSimulatedLog(), createFolder()];
    await record(log, 2);
    const { notary } = start(folder, log, next, old);
    expect(await signersOf(await rotated(notary))).toEqual(['next']);
    expect(changesOf({ log })).toEqual([]);
  });

  it('is pushed to a sink before the first checkpoint of the new key', async () => {
    const { log, folder } = await signedLog();
    const { notary } = start(folder, log, next, old);
    await rotated(notary);
    const names: string[] = [];
    const sink: Sink = {
      name: 'sink',
      read: () => Promise.resolve(undefined),
      putTile: () => Promise.resolve(),
      putCheckpoint: (path) => {
        names.push(path);
        return Promise.resolve();
      },
      close: () => undefined,
    };
    const pushing = { source: notary.source, tenant: 'acme', note: notary.newest('acme') ?? '' };
    await pushLog(sink, { ...pushing, signal: new AbortController().signal });
    expect(names).toEqual(['acme/1/key-changes', 'acme/1/checkpoint']);
  });

  it('keeps the change and its checkpoint, both or none', async () => {
    const { log, folder } = await signedLog();
    const { notary, stop } = start(folder, log, next, old);
    await rotated(notary);
    const proof = JSON.parse(notary.keyChanges('acme')[0]!) as ProofFileEvent;
    expect(keyChangeOf(proof)?.size).toBe(4);
    await stop();
    const file = openCheckpointFile(':memory:');
    const broken = { epoch: 1, size: 4, proof: null as unknown as string, vkeys: [] };
    expect(() => file.saveKeyChange({ tenant: 'acme', epoch: 1, note: 'note' }, broken)).toThrow();
    expect([file.ofTenant('acme'), file.keyChanges('acme')]).toEqual([[], []]);
  });
});

async function vkeysOf(signer: LogSigner): Promise<readonly [string, string]> {
  const [first, second] = [await signer.keyOf(origin), await signer.mlDsaKeyOf(origin)];
  return [formatVkey(first), formatVkey(second!)];
}

/** What the event of a change says. */
async function keysOf(before: LogSigner, after: LogSigner) {
  const [[old, oldSecond], [next, nextSecond]] = [await vkeysOf(before), await vkeysOf(after)];
  return { before: old, after: next, mlDsa: { before: oldSecond, after: nextSecond } };
}
