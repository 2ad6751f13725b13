import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseCheckpoint, parseNote } from '@countersign/audit';
import {
  createSimulatedEventStore,
  createSimulatedLog,
  createSimulatedRecordStreams,
  sampleEvent,
} from '@countersign/event-store/testing';
import type { KeptRecord } from '@countersign/event-store';
import type { SimulatedLog } from '@countersign/event-store/testing';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { createMetricsRegistry, openSystemLog } from '@countersign/shell';
import { makeAuthority, serveAuthority } from '@countersign/timestamps/testing';
import type { Authority, ServedAuthority } from '@countersign/timestamps/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { NotaryPlace } from '../open-notary.js';
import { openNotary } from '../open-notary.js';
import { createSharedTimestamps } from './shared-timestamps.js';
import { readTimestampSettings } from './timestamp-settings.js';
import { createTimestampsCheck, createTimestampsMetrics } from './timestamps-report.js';

let authority: Authority;
let served: ServedAuthority;
let folder = '';
const closes: (() => unknown)[] = [];
beforeAll(() => {
  authority = makeAuthority();
}, 120_000);
afterAll(() => authority.remove());
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'stamped-'));
  served = await serveAuthority(authority);
});
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
  await served.close();
  rmSync(folder, { recursive: true });
});

async function record(log: SimulatedLog, count: number): Promise<void> {
  const store = createSimulatedEventStore({ clock: systemClock, log });
  for (let n = 0; n < count; n += 1) {
    const event = sampleEvent();
    const metadata = { ...event.metadata, tenant: 'acme' };
    await store.append(`toolCall-${event.eventId}`, -1, [{ ...event, metadata }]);
  }
}

function settings(more: Record<string, unknown> = {}) {
  return readTimestampSettings(
    {
      ...{ COUNTERSIGN_TSA_URL: served.url, COUNTERSIGN_TSA_CA: authority.rootFile, COUNTERSIGN_TSA_PRIVATE: 'true' },
      ...more,
    },
    folder,
  );
}

function start(log: SimulatedLog, more: Partial<NotaryPlace> = {}) {
  const notary = openNotary({
    ...{ folder, logKeyFile: null, logSigner: null, sinks: [], acceptsContradiction: false, timestamps: settings() },
    ...{ store: createSimulatedEventStore({ clock: systemClock, log }), clock: systemClock, log: createSilentLog() },
    ...{ origin: 'countersign.example', ...more },
  });
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= notary.stop());
  closes.push(stop);
  return { ...notary, stop };
}

type Notary = ReturnType<typeof start>;

const stampsOf = (notary: Notary) => notary.timestamps('acme', { limit: 100 });
const sizesOf = async (notary: Notary) => (await stampsOf(notary)).map(({ size }) => size);

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 3000 && !(await isSo()); tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await isSo()).toBe(true);
}

it('the authority is recorded when it is another one than this process recorded last', async () => {
  const log = createSimulatedLog();
  const store = createSimulatedEventStore({ clock: systemClock, log });
  const system = openSystemLog({ store, folder, clock: systemClock, ids: createSystemIds(), log: createSilentLog() });
  const secret = { COUNTERSIGN_TSA_URL: `${served.url}?key=hunter2`, COUNTERSIGN_TSA_INTERVAL_MS: 5_000 };
  for (const timestamps of [null, settings(), settings(), settings(secret), null]) {
    const notary = start(log, { timestamps });
    await notary.recordSettings(system);
    await notary.stop();
  }
  await system.close();
  const recorded = log.events.map(({ type, data }) => ({ type, ...(data as object) }));
  const root = expect.stringMatching(/^trusts CN=Test root \([0-9A-F:]{95}\)$/) as unknown;
  const summary = [`${served.url}, at most once in 3600000 ms`, 'private networks are allowed', root];
  expect(recorded).toMatchObject([
    { type: 'ConfigurationChanged', configures: 'timestamps', summary },
    { summary: [`${served.url}, at most once in 5000 ms`, 'private networks are allowed', root] },
    { configures: 'timestamps', summary: [] },
  ]);
  expect(JSON.stringify(recorded)).not.toContain('hunter2');
});

describe('the time stamps of a log', () => {
  it('are of the text that was signed, at most one in the interval, also over a restart', async () => {
    const log = createSimulatedLog();
    await record(log, 5);
    const notary = start(log);
    await notary.sign('acme');
    await until(async () => (await stampsOf(notary)).length === 1);
    const [stamp] = await stampsOf(notary);
    const note = notary.newest('acme') ?? '';
    expect(stamp).toMatchObject({ epoch: 1, size: 5, text: parseNote(note)?.text });
    expect(parseCheckpoint(stamp!.text)?.size).toBe(5);
    expect(() => authority.verify(stamp!.reply, stamp!.text)).not.toThrow();
    await record(log, 3);
    await notary.sign('acme');
    await notary.stop();
    const again = start(log, { timestamps: settings() });
    await again.sign('acme');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect([await sizesOf(again), served.queries.length]).toEqual([[5], 1]);
    await again.stop();
    const often = start(log, { timestamps: settings({ COUNTERSIGN_TSA_INTERVAL_MS: 1 }) });
    await until(async () => (await sizesOf(often)).length === 2);
    expect(await sizesOf(often)).toEqual([5, 8]);
    expect((await often.timestamps('acme', { order: 'newest', limit: 1 })).map(({ size }) => size)).toEqual([8]);
    expect(await often.timestamps('acme', { after: { epoch: 1, size: 8 }, limit: 9 })).toEqual([]);
    expect((await often.timestamps('acme', { size: 5, limit: 9 })).map(({ size }) => size)).toEqual([5]);
  }, 120_000);

  it('are missing while the authority is away or lies, which the process says, and nothing waits for them', async () => {
    const hostile: readonly (readonly [string, Parameters<ServedAuthority['answerWith']>[0]])[] = [
      ['it answered with 500', (_query, response) => response.writeHead(500).end()],
      ['no answer of a time stamping authority', (_query, response) => response.end('<html>busy</html>')],
      ['the answer is too long', (_query, response) => response.end(Buffer.alloc(100_000))],
      ['no time stamp in it', (_query, response) => response.end(Buffer.from('30053003020100', 'hex'))],
      ['another nonce', (query, response) => response.end(authority.answer(otherNonce(query)))],
      ['of another text', (query, response) => response.end(authority.answer(otherHash(query)))],
      ['time stamps alone', (query, response) => response.end(authority.forge(query, { signer: 'web' }))],
    ];
    const log = createSimulatedLog();
    await record(log, 5);
    for (const [why, answering] of hostile) {
      served.answerWith(answering);
      const data = mkdtempSync(join(folder, 'data-'));
      const notary = start(log, { folder: data });
      expect(await notary.sign('acme')).toMatchObject({ status: 'signed' });
      await until(() => notary.timestampState().problem !== undefined);
      expect(notary.timestampState().problem).toContain(why);
      expect(createTimestampsCheck(notary.timestampState).check()).toMatchObject({
        ...{ status: 'ok', note: expect.stringContaining(why) },
      });
      expect([notary.health(), await stampsOf(notary)]).toEqual([{ status: 'ok' }, []]);
      await notary.stop();
    }
    served.answerWith(() => undefined);
    const hanging = start(log);
    await hanging.sign('acme');
    await until(() => served.queries.length > hostile.length);
    const before = Date.now();
    await hanging.stop();
    expect(Date.now() - before).toBeLessThan(9_000);
    served.answerWith(undefined);
    const notary = start(log);
    await until(async () => (await stampsOf(notary)).length === 1);
    const registry = createMetricsRegistry();
    createTimestampsMetrics(registry, notary.timestampState);
    expect(await registry.metrics()).toMatch(/countersign_log_timestamp_success_timestamp_seconds [1-9]/);
  }, 240_000);

  it('are shared by the notaries of a cluster, and a forged record does not count', async () => {
    const [log, records] = [createSimulatedLog(), new Map<string, KeptRecord[]>()];
    await record(log, 5);
    const shared = () => createSharedTimestamps(createSimulatedRecordStreams(records), createSystemIds());
    const interval = { timestamps: settings({ COUNTERSIGN_TSA_INTERVAL_MS: 1 }) };
    const open = (name: string, more: Partial<NotaryPlace> = {}) =>
      start(log, { ...interval, folder: mkdtempSync(join(folder, name)), sharedTimestamps: shared(), ...more });
    const logKeyFile = join(folder, 'log.pem');
    const { privateKey } = generateKeyPairSync('ed25519');
    writeFileSync(logKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const one = open('one', { logKeyFile });
    await one.sign('acme');
    await until(async () => (await sizesOf(one)).length === 1);
    const reader = open('reader', { logKeyFile, timestamps: null });
    expect(await stampsOf(reader)).toEqual(await stampsOf(one));
    const other = open('other', { logKeyFile });
    await record(log, 3);
    await Promise.all([one.sign('acme'), other.sign('acme')]);
    await until(async () => (await sizesOf(reader)).length === 2);
    await until(async () => (await sizesOf(other)).length === 2 && (await sizesOf(one)).length === 2);
    const [kept] = [...records.values()];
    const forged = { ...kept![0]!, revision: kept!.length, data: { ...kept![0]!.data, size: 6 } };
    kept!.push(forged);
    expect(await sizesOf(open('later', { logKeyFile, timestamps: null }))).toEqual([5, 8]);
  }, 120_000);
});

it.each<[Record<string, string>, string]>([
  [{ COUNTERSIGN_TSA_URL: 'http://tsa.example/' }, 'COUNTERSIGN_TSA_PRIVATE=true'],
  [{ COUNTERSIGN_TSA_URL: 'https://10.0.0.1/' }, 'private network'],
  [{ COUNTERSIGN_TSA_URL: 'https://me:secret@tsa.example/' }, 'has a user'],
  [{ COUNTERSIGN_TSA_URL: 'tsa.example' }, 'must be an https:// address'],
  [{ COUNTERSIGN_TSA_CA: '/nowhere.pem' }, 'has no effect without COUNTERSIGN_TSA_URL'],
  [{ COUNTERSIGN_TSA_URL: 'https://tsa.example/', COUNTERSIGN_TSA_CA: import.meta.filename }, 'as PEM'],
])('settings that cannot work are refused: %j', (values, why) => {
  expect(() => readTimestampSettings(values, folder)).toThrow(why);
});

/** A query with one bit of its nonce changed, which is at its end before `certReq`. */
function otherNonce(query: Buffer): Buffer {
  const changed = Buffer.from(query);
  changed[changed.length - 4]! ^= 1;
  return changed;
}

function otherHash(query: Buffer): Buffer {
  const changed = Buffer.from(query);
  changed[changed.indexOf(Buffer.from('0420', 'hex')) + 5]! ^= 1;
  return changed;
}
