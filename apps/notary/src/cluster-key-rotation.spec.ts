import { formatVkey, parseNote, readKeyChanges, verifyNote } from '@countersign/audit';
import { systemStream } from '@countersign/contracts';
import type { NewEvent } from '@countersign/contracts';
import type { KeptRecord } from '@countersign/event-store';
import {
  createSimulatedEventStore,
  createSimulatedLog,
  createSimulatedRecordStreams,
  sampleEvent,
} from '@countersign/event-store/testing';
import type { RecordFault } from '@countersign/event-store/testing';
import { createSystemIds } from '@countersign/runtime';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createSeedSigner } from './log-signer.js';
import type { LogSigner } from './log-signer.js';
import { createNotary } from './notary.js';
import type { Notary } from './notary.js';
import type { NotaryPorts } from './ports.js';
import { createSharedCheckpoints } from './shared-checkpoints.js';
import { openCheckpointFile } from './sqlite/checkpoint-file.js';
import { openTreeFile } from './sqlite/tree-file.js';

const [old, next] = [7, 8].map((byte) => createSeedSigner(new Uint8Array(32).fill(byte))) as [LogSigner, LogSigner];
const origin = 'countersign.example/acme/1';
const createFolder = () => ({ trees: openTreeFile(':memory:'), checkpoints: openCheckpointFile(':memory:') });

const running = new Set<Notary>();
afterEach(async () => {
  await Promise.all([...running].map((notary) => notary.stop()));
  running.clear();
});

/** A store that outlives its notaries. Each notary records as a process of its own. */
function createCluster() {
  const [clock, log, records] = [createVirtualClock(), createSimulatedLog(), new Map<string, KeptRecord[]>()];
  const store = createSimulatedEventStore({ clock, log });
  const recorderOf = (processId: string): NonNullable<NotaryPorts['rotation']>['record'] => {
    const stream = systemStream('acme', processId);
    return async (tenant, keys) => {
      const recorded = await store.readStream(stream);
      const last = recorded.at(-1)?.data as { before?: string; after?: string } | undefined;
      const place = { stream, revision: recorded.length - 1 };
      if (last?.before === keys.before && last.after === keys.after) return place;
      const eventId = createSystemIds().uuid();
      const data = { processId, ...keys, changedAt: '2026-11-27T10:00:00.000Z' };
      const metadata = { tenant, callId: null, runId: null, schemaVersion: 2, commandId: eventId };
      const event: NewEvent = { eventId, type: 'LogKeyChanged', data, metadata };
      await store.append(stream, place.revision, [event]);
      return { stream, revision: recorded.length };
    };
  };
  const start = (processId: string, more: Partial<NotaryPorts> = {}, fault?: () => RecordFault): Notary => {
    const shared = createSharedCheckpoints(createSimulatedRecordStreams(records, fault), createSystemIds());
    const base = { ...createFolder(), store: createSimulatedEventStore({ clock, log }), shared, clock };
    const rotation = { previous: old, record: recorderOf(processId) };
    const given = { signer: next, rotation, origin: 'countersign.example', behindMs: 10_000 };
    const notary = createNotary({ ...base, ...given, acceptsContradiction: false, log: createSilentLog(), ...more });
    notary.start();
    running.add(notary);
    return notary;
  };
  const record = async (count: number): Promise<void> => {
    for (let nth = 0; nth < count; nth += 1) {
      const event = sampleEvent();
      const metadata = { ...event.metadata, tenant: 'acme' };
      await store.append(`toolCall-${event.eventId}`, -1, [{ ...event, metadata }]);
    }
  };
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 100) await clock.advanceAsync(100);
  };
  /** Which of the keys signed each checkpoint that the notaries kept. */
  const signed = async (): Promise<readonly string[]> => {
    const notes = (records.get('record-checkpoints-of-acme') ?? []).map(
      ({ data }) => (data['epochs'] as [{ readonly note: string }])[0].note,
    );
    return Promise.all(notes.map(signersOf));
  };
  return { clock, log, start, record, pass, signed, recorderOf };
}

async function signersOf(note: string | undefined): Promise<string> {
  const found: string[] = [];
  for (const [name, signer] of Object.entries({ old, next })) {
    if (verifyNote(parseNote(note ?? '')!, [await signer.keyOf(origin)]).verified.length > 0) found.push(name);
  }
  return found.join(' and ');
}

/** Asks for a checkpoint while the time passes. */
async function ask(notary: Notary, pass: (ms: number) => Promise<void>) {
  const signing = notary.sign('acme');
  await pass(6_000);
  return signing;
}

/** Whether an auditor who has the old key alone trusts the newest checkpoint of a notary. */
async function isTrusted(notary: Notary): Promise<boolean> {
  const [change, ...others] = readKeyChanges(notary.keyChanges('acme'));
  if (change === undefined || others.length > 0) return false;
  const isOfKeys = formatVkey(change.before) === formatVkey(await old.keyOf(origin));
  return isOfKeys && verifyNote(parseNote(notary.newest('acme') ?? '')!, [change.after]).verified.length > 0;
}

/** A cluster whose log the old key signed. */
async function createSigned() {
  const cluster = createCluster();
  await cluster.record(3);
  const first = cluster.start('first', { signer: old, rotation: undefined });
  await ask(first, cluster.pass);
  return { ...cluster, first };
}

async function stop(notary: Notary): Promise<void> {
  running.delete(notary);
  await notary.stop();
}

describe('a planned change of the log key in a cluster', () => {
  it('is signed by both keys once, and the other notary goes on with the new key and knows the change', async () => {
    const { start, record, pass, signed, first } = await createSigned();
    await stop(first);
    const one = start('one');
    await ask(one, pass);
    await ask(one, pass);
    expect(await signed()).toEqual(['old', 'old and next']);
    await stop(one);
    const other = start('other');
    await record(1);
    await ask(other, pass);
    expect(await signed()).toEqual(['old', 'old and next', 'next']);
    expect(await isTrusted(other)).toBe(true);
    const keys = [await next.keyOf(origin), await next.mlDsaKeyOf(origin), await old.keyOf(origin)];
    const all = [...keys, await old.mlDsaKeyOf(origin)];
    expect(await other.vkeys('acme')).toEqual(all.map((key) => formatVkey(key!)));
    await stop(other);
    const later = start('later', { rotation: undefined });
    await record(1);
    await ask(later, pass);
    expect([await isTrusted(later), later.health()]).toEqual([true, { status: 'ok' }]);
  });

  it('makes a notary that has the old key alone sign nothing more, also one that still believes to be active', async () => {
    const { start, record, pass, signed, first } = await createSigned();
    const one = start('one');
    await ask(one, pass);
    await ask(one, pass);
    await record(1);
    expect(await ask(first, pass)).toMatchObject({
      status: 'unavailable',
      why: expect.stringContaining('another log key'),
    });
    await ask(one, pass);
    expect(await signed()).toEqual(['old', 'old and next', 'next']);
  });

  it('is one change when two notaries make it at once', async () => {
    const { start, record, pass, signed, first } = await createSigned();
    await stop(first);
    const [one, other] = [start('one'), start('other')];
    for (let round = 0; round < 4; round += 1) await Promise.all([ask(one, pass), ask(other, pass)]);
    await record(1);
    await ask(one, pass);
    await ask(other, pass);
    const all = await signed();
    expect(all.filter((keys) => keys === 'old and next')).toHaveLength(1);
    expect(all.slice(all.indexOf('old and next') + 1).every((keys) => keys === 'next')).toBe(true);
    for (const notary of [one, other]) {
      expect(notary.keyChanges('acme')).toHaveLength(1);
      expect([await isTrusted(notary), notary.health()]).toEqual([true, { status: 'ok' }]);
    }
  });
});

describe('a notary that is killed while it changes the log key', () => {
  type World = Awaited<ReturnType<typeof createSigned>>;
  const killed = (): never => {
    throw new Error('killed');
  };
  const deaths: Record<string, (world: World) => Notary> = {
    'before the event is recorded': ({ start }) =>
      start('dying', { rotation: { previous: old, record: () => Promise.reject(new Error('killed')) } }),
    'after the event is recorded': ({ start, recorderOf }) =>
      start('dying', {
        rotation: { previous: old, record: async (...given) => recorderOf('dying')(...given).then(killed) },
      }),
    'before the store has the checkpoint': ({ start }) => start('dying', {}, () => 'lost-request'),
    'after the store has the checkpoint': ({ start }) => start('dying', {}, () => 'lost-reply'),
    'before its own file has the change': ({ start }) => {
      const folder = createFolder();
      return start('dying', { ...folder, checkpoints: { ...folder.checkpoints, saveKeyChange: killed } });
    },
    'before its own file has the checkpoint': ({ start }) => {
      const folder = createFolder();
      return start('dying', { ...folder, checkpoints: { ...folder.checkpoints, save: killed } });
    },
  };

  it.each(Object.keys(deaths))('%s leaves a log that the other one continues, once', async (when) => {
    const world = await createSigned();
    const { start, record, pass, signed, first } = world;
    await stop(first);
    const dying = deaths[when]!(world);
    await ask(dying, pass);
    await ask(dying, pass);
    running.delete(dying);
    const other = start('other');
    await ask(other, pass);
    await ask(other, pass);
    await record(1);
    await ask(other, pass);
    expect(await signed()).toEqual(['old', 'old and next', 'next']);
    expect(other.keyChanges('acme')).toHaveLength(1);
    expect([await isTrusted(other), other.health()]).toEqual([true, { status: 'ok' }]);
  });
});
