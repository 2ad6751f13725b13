import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { sensitivePointers } from '@countersign/contracts';
import type { JsonObject, LogEvent, NewEvent, RecordedEvent } from '@countersign/contracts';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createCollectingLog, createSilentLog } from '@countersign/runtime/testing';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { openEmbeddedEventStore } from '../embedded/embedded-event-store.js';
import { eventStoreContract } from '../event-store.contract.js';
import { KeysUnavailableError, noStream } from '../event-store.js';
import { createSimulatedEventStore, createSimulatedLog } from '../simulated-event-store.js';
import type { SimulatedLog } from '../simulated-event-store.js';
import { openSubjectKeys } from './keys-file.js';
import { createSealedStore } from './sealed-store.js';
import type { SubjectKeys } from './subject-keys.js';

eventStoreContract({
  name: 'sealed embedded',
  open: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-'));
    const options = { folder, log: createSilentLog(), clock: systemClock };
    const keys = openSubjectKeys({ folder, rootKeyFile: null, log: options.log });
    const open = async () => createSealedStore(await openEmbeddedEventStore(options), { keys, log: options.log });
    let store = await open();
    return {
      store,
      reopen: async () => {
        await store.close();
        return (store = await open());
      },
      dispose: async () => {
        await store.close();
        keys.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
});

const clock = systemClock;
const ids = createSystemIds();
let folder: string;
let simulated: SimulatedLog;
let keys: SubjectKeys;
const log = createCollectingLog();
const raw = () => createSimulatedEventStore({ clock, log: simulated });
const sealed = () => createSealedStore(raw(), { keys, log });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-sealed-'));
  simulated = createSimulatedLog();
  keys = openSubjectKeys({ folder, rootKeyFile: null, log: createSilentLog() });
});
afterEach(() => {
  keys.close();
  rmSync(folder, { recursive: true });
});

const metadata = { tenant: 'default', callId: 'tc_1', runId: 'run-1', schemaVersion: 1, commandId: 'c' };
const requested = (args: JsonObject, labels: Record<string, string> = {}): NewEvent => ({
  eventId: ids.uuid(),
  type: 'ToolCallRequested',
  data: {
    callId: 'tc_1',
    runId: 'run-1',
    labels,
    requestedBy: 'agent',
    arguments: args,
    sensitive: sensitivePointers(args),
    salt: 'feed',
  } as never,
  metadata,
});
const succeeded = (output: JsonObject): NewEvent => ({
  eventId: ids.uuid(),
  type: 'ExecutionSucceeded',
  data: { output } as never,
  metadata,
});
const secret = { user: 'a', password: 'hunter2' };
const eraseKeysOfCalls = (name: string): void => eraseKeys(JSON.stringify(['agent', name]));
const eraseKeys = (subject: string): void => {
  const found = keys.retire('default', subject);
  keys.beginErasing(found);
  keys.destroy(found);
};
const dataOf = (event: LogEvent | undefined): JsonObject => (event as RecordedEvent | undefined)?.data as JsonObject;

it('records the ciphertext of a sensitive value and of the salt, and shows the values to its readers', async () => {
  const store = sealed();
  const event = requested(secret);
  const seen: LogEvent[] = [];
  const live = store.subscribe(0, { onEvents: (events) => void seen.push(...events), onError: () => undefined });
  const result = await store.append('toolCall-1', noStream, [event]);
  expect(JSON.stringify(simulated.events)).not.toMatch(/hunter2|feed/);
  expect(dataOf(simulated.events[0])['arguments']).toEqual({ user: 'a', password: '[sealed]' });
  const again = await store.append('toolCall-1', noStream, [event]);
  await live.stop();
  const reads = [await store.readStream('toolCall-1'), await store.readAll(0, 10), seen];
  for (const one of [result, again]) reads.push(one.status === 'committed' ? one.events : []);
  for (const read of reads) expect(read.map(dataOf)).toEqual([event.data]);
});

it('makes no key, and changes nothing, for an event without sensitive values', async () => {
  const current = keys.current;
  let asked = 0;
  keys = { ...keys, current: (...of) => ((asked += 1), current(...of)) };
  const event = requested({ path: '/x', password: null });
  await sealed().append('toolCall-1', noStream, [event]);
  expect([asked, simulated.events[0]?.data, simulated.events[0]?.metadata]).toEqual([0, event.data, metadata]);
});

it('uses the key of the call for its later events, also in a process that did not record the request', async () => {
  await sealed().append('toolCall-1', noStream, [requested({ n: 1 }, { subject: 'customer-42' })]);
  await sealed().append('toolCall-1', 0, [succeeded({ token: 'hunter2' })]);
  expect(JSON.stringify(simulated.events)).not.toContain('hunter2');
  eraseKeysOfCalls('customer-42');
  expect(dataOf((await sealed().readStream('toolCall-1'))[1])).toEqual({ output: { token: '[erased]' } });
});

it('marks the values of an erased subject, names their places, and has no salt any more', async () => {
  await sealed().append('toolCall-1', noStream, [requested({ ...secret, note: '[erased]' })]);
  eraseKeysOfCalls('run:run-1');
  const [event] = await sealed().readStream('toolCall-1');
  expect(dataOf(event)).toMatchObject({ arguments: { user: 'a', password: '[erased]', note: '[erased]' }, salt: null });
  expect(event?.metadata.erased).toEqual(['/arguments/password']);
});

it('shows a text that reads like a mark as the text that it is', async () => {
  const literal = { note: '[erased]', other: '[sealed]', password: '[sealed]' };
  await sealed().append('toolCall-1', noStream, [requested(literal)]);
  const [event] = await sealed().readStream('toolCall-1');
  expect([dataOf(event)['arguments'], event?.metadata.erased]).toEqual([literal, undefined]);
});

it('leaves other subjects readable, and gives the erased one a new key', async () => {
  const store = sealed();
  await store.append('toolCall-1', noStream, [requested(secret, { subject: 'a' })]);
  await store.append('toolCall-2', noStream, [requested(secret, { subject: 'b' })]);
  eraseKeysOfCalls('a');
  await store.append('toolCall-3', noStream, [requested(secret, { subject: 'a' })]);
  const passwords = (await store.readAll(0, 10)).map((event) => (dataOf(event)['arguments'] as JsonObject)['password']);
  expect(passwords).toEqual(['[erased]', 'hunter2', 'hunter2']);
});

it('cannot read values that were moved to another event, or altered', async () => {
  await sealed().append('toolCall-1', noStream, [requested(secret)]);
  const [first] = simulated.events;
  if (first === undefined) throw new Error('nothing is recorded');
  for (const moved of [
    { ...first, eventId: ids.uuid() },
    { ...first, stream: 'toolCall-2' },
    { ...first, metadata: { ...first.metadata, sealed: { ...first.metadata.sealed, pointers: ['/salt'] } as never } },
  ]) {
    simulated.events[0] = moved;
    const [read] = await sealed().readAll(0, 10);
    expect(read?.unreadable).toContain('are not those that were recorded');
    expect(read).not.toHaveProperty('data');
  }
});

it('reads values whose key is lost as under a missing key, and says so once', async () => {
  await sealed().append('toolCall-1', noStream, [requested(secret)]);
  const other = mkdtempSync(join(tmpdir(), 'countersign-sealed-'));
  keys.close();
  keys = openSubjectKeys({ folder: other, rootKeyFile: null, log });
  const store = sealed();
  const before = log.entries.length;
  await store.readAll(0, 10);
  const [event] = await store.readAll(0, 10);
  expect(dataOf(event)).toMatchObject({ arguments: { password: '[key missing]' }, salt: null });
  expect([event?.metadata.missing, event?.metadata.erased]).toEqual([['/arguments/password'], undefined]);
  expect(log.entries.length - before).toBe(1);
  expect(store.missingKeys()).toBe(1);
  rmSync(other, { recursive: true });
});

it('encrypts the salt of an exact grant, with the key of its subject or with one of its own', async () => {
  const match = { digest: 'sha256:aa', salt: 'feed' };
  const grant = (change: JsonObject): NewEvent => ({
    eventId: ids.uuid(),
    type: 'GrantCreated',
    data: { grantId: 'g2', match, ...change } as never,
    metadata: { ...metadata, callId: null },
  });
  await sealed().append('grant-1', noStream, [grant({ subject: 'customer-42' })]);
  await sealed().append('grant-2', noStream, [grant({})]);
  const sealedMatch = { ...match, salt: '[sealed]' };
  expect(simulated.events.map((event) => dataOf(event)['match'])).toEqual([sealedMatch, sealedMatch]);
  expect(dataOf((await sealed().readStream('grant-1'))[0])['match']).toEqual(match);
  eraseKeys('customer-42');
  expect(dataOf((await sealed().readStream('grant-1'))[0])['match']).toEqual({ ...match, salt: null });
  expect(dataOf((await sealed().readStream('grant-2'))[0])['match']).toEqual(match);
  eraseKeys('grant:g2');
  expect(dataOf((await sealed().readStream('grant-2'))[0])['match']).toEqual({ ...match, salt: null });
});

it('records nothing when no key can be made', async () => {
  keys = { ...keys, current: () => Promise.reject(new Error('disk full')) };
  await expect(sealed().append('toolCall-1', noStream, [requested(secret)])).rejects.toThrow('no key could be made');
  expect(simulated.events).toEqual([]);
});

it('settles when the appends that were under way have ended', async () => {
  const store = sealed();
  const running = store.append('toolCall-1', noStream, [requested(secret)]);
  await store.settled();
  expect(simulated.events).toHaveLength(1);
  await running;
});

it('opens no page whose keys cannot be had, and hands none to a subscriber', async () => {
  await sealed().append('toolCall-1', noStream, [requested(secret)]);
  const away = (): Promise<never> => Promise.reject(new KeysUnavailableError('no keeper'));
  const store = createSealedStore(raw(), { keys: { current: away, load: away }, log });
  await expect(store.readStream('toolCall-1')).rejects.toThrow(KeysUnavailableError);
  await expect(store.readAll(0, 10)).rejects.toThrow(KeysUnavailableError);
  await expect(store.append('toolCall-2', noStream, [requested(secret)])).rejects.toThrow(KeysUnavailableError);
  const seen: LogEvent[] = [];
  const ended = await new Promise((resolve) => {
    store.subscribe(0, { onEvents: (events) => void seen.push(...events), onError: resolve });
  });
  expect([ended, seen]).toEqual([expect.any(KeysUnavailableError), []]);
  expect(await store.append('toolCall-2', noStream, [requested({ path: '/x' })])).toMatchObject({
    status: 'committed',
  });
});

it('does not know the outcome of an append whose keys are gone when it is read back: a repetition finds it', async () => {
  let isAway = true;
  const load = (ids: readonly string[]) =>
    isAway ? Promise.reject(new KeysUnavailableError('no keeper')) : Promise.resolve(keys.load(ids));
  const store = createSealedStore(raw(), { keys: { current: keys.current, load }, log });
  const event = requested(secret);
  expect(await store.append('toolCall-1', noStream, [event])).toMatchObject({ status: 'unknown' });
  isAway = false;
  expect(await store.append('toolCall-1', noStream, [event])).toMatchObject({ status: 'committed', events: [event] });
  expect(simulated.events).toHaveLength(1);
});

it('hands pages to a subscriber in their order while keys are fetched', async () => {
  const load = async (ids: readonly string[]) => {
    await setImmediate();
    return keys.load(ids);
  };
  const store = createSealedStore(raw(), { keys: { current: keys.current, load }, log });
  const seen: number[] = [];
  const live = store.subscribe(0, {
    onEvents: (events) => void seen.push(...events.map(({ position }) => position)),
    onError: () => undefined,
  });
  for (const n of [1, 2, 3]) {
    const args = n === 2 ? { path: '/x' } : secret;
    await store.append(`toolCall-${String(n)}`, noStream, [requested(args)]);
  }
  while (seen.length < 3) await setImmediate();
  await live.stop();
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
});
