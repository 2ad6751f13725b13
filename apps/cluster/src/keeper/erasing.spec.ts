import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  EventStoreUnavailableError,
  KeysUnavailableError,
  openRequestsKey,
  openSubjectKeys,
} from '@countersign/event-store';
import type { RequestsKey, FileKeys } from '@countersign/event-store';
import { createCollectingLog, createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import type { CollectingLog, VirtualClock } from '@countersign/runtime/testing';
import { createErasing } from './erasing.js';
import type { Erasing } from './erasing.js';
import { createKeeper } from './keeper.js';
import type { Keeper } from './keeper.js';
import { createSessions } from './sessions.js';

const loanMs = 60_000;
/** Beyond a loan, with the margin of the keeper. */
const longMs = loanMs + 1000;
const owner = { tenant: 'default', subject: 'customer' };

let folder: string;
let keys: FileKeys;
let requestsKey: RequestsKey;
const body = Buffer.from('{}');
let clock: VirtualClock;
let erasing: Erasing;
let keeper: Keeper;
let log: CollectingLog;
/** The end of the log; undefined: it cannot be read. */
let head: number | undefined;

function readHead(): Promise<number> {
  return head === undefined
    ? Promise.reject(new EventStoreUnavailableError('the event store is away'))
    : Promise.resolve(head);
}

/** Starts a keeper; `isFirst`: no process has keys of an earlier one. */
async function start(isFirst = true): Promise<void> {
  keys = openSubjectKeys({ folder, rootKeyFile: null, log: createSilentLog() });
  keys.confirm();
  const sessions = createSessions(clock, { loanMs, stopping: new AbortController().signal, log });
  requestsKey = await openRequestsKey(keys);
  erasing = createErasing({ keys, requestsKey, sessions, clock, loanMs, head: readHead });
  keeper = createKeeper({ keys, sessions, erasing });
  if (isFirst) await clock.advanceAsync(longMs);
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-keeper-'));
  clock = createVirtualClock();
  log = createCollectingLog();
  head = 0;
  await start();
});
afterEach(() => {
  keys.close();
  rmSync(folder, { recursive: true });
});

const current = async (session: string): Promise<string> => (await keeper.handlers.current(session, owner)).id;

const confirm = (session: string, part: { dropped?: number; rewritten?: number; progress?: number }): unknown =>
  keeper.handlers.follow(session, {
    confirmed: { epoch: erasing.version().epoch, dropped: 0, rewritten: 0, progress: 0, ...part },
  });

/** Returns whether a promise settles without more time than this. */
async function settles(work: Promise<unknown>, ms = 100): Promise<boolean> {
  let isOver = false;
  void work.finally(() => (isOver = true));
  await clock.advanceAsync(ms);
  await clock.advanceAsync(0);
  return isOver;
}

it('has retired a key when each process has dropped it', async () => {
  const id = await current('a');
  await current('b');
  const retired = erasing.retire(owner.tenant, owner.subject);
  const { number } = erasing.version();
  confirm('a', { dropped: number });
  confirm('b', { dropped: number - 1 });
  expect(await settles(retired)).toBe(false);
  confirm('b', { dropped: number });
  expect(await settles(retired)).toBe(true);
  expect(await retired).toEqual([id]);
  expect(await current('a')).not.toBe(id);
});

it('waits for a process that is silent until its loan has ended, counted from its last request', async () => {
  await current('a');
  await clock.advanceAsync(loanMs - 1000);
  await current('a');
  const retired = erasing.retire(owner.tenant, owner.subject);
  expect(await settles(retired, loanMs)).toBe(false);
  expect(await settles(retired, 1000)).toBe(true);
});

describe('a session that asks on and does not confirm', () => {
  /** Asks every 500 ms for `ms`. Returns whether the work is over, and how many requests were refused. */
  async function askOn(session: string, work: Promise<unknown>, ms: number, part = {}): Promise<[boolean, number]> {
    let [isOver, refused] = [false, 0];
    void work.finally(() => (isOver = true));
    for (let spent = 0; spent < ms; spent += 500) {
      await clock.advanceAsync(500);
      try {
        confirm(session, part);
      } catch (error) {
        expect(error).toBeInstanceOf(EventStoreUnavailableError);
        refused += 1;
      }
    }
    return [isOver, refused];
  }

  it('holds up an erasure for one loan, gets no more keys, and is named in the log', async () => {
    await current('rogue');
    const retired = erasing.retire(owner.tenant, owner.subject);
    expect(await askOn('rogue', retired, loanMs - 1000)).toEqual([false, 0]);
    expect(await askOn('rogue', retired, 2000)).toEqual([true, 3]);
    await expect(async () => current('rogue')).rejects.toThrow('did not confirm a change of the keys');
    const lines = log.entries.map(({ level, fields }) => [
      level,
      fields['session'],
      fields['dropped'],
      fields['version'],
    ]);
    expect(lines).toEqual([['warn', 'rogue', 1, 2]]);
    expect((await askOn('rogue', retired, 5 * loanMs))[1]).toBe((10 * loanMs) / 1000);
    expect(await settles(erasing.retire(owner.tenant, 'another'))).toBe(true);
  });

  it('gets a loan that ends one loan after the change', async () => {
    await current('rogue');
    void erasing.retire(owner.tenant, owner.subject);
    // The clock of a process counts parts of a millisecond.
    await clock.advanceAsync(loanMs - 1000.5);
    expect(confirm('rogue', {})).toEqual({ loanMs: 1000 });
  });

  it('gets keys again once it has confirmed what it was told, after its loan', async () => {
    await current('slow');
    const retired = erasing.retire(owner.tenant, owner.subject);
    await askOn('slow', retired, loanMs + 1000);
    expect(() => confirm('slow', { dropped: 1 })).toThrow('did not confirm');
    expect(confirm('slow', { dropped: 2 })).toEqual({ loanMs });
    expect(await current('slow')).toEqual(expect.any(String));
  });

  it('is waited for while it makes progress with its copies, and not when that stands still', async () => {
    const id = await current('a');
    erasing.recorded([id], 1);
    const finished = erasing.finish([id]);
    const { number } = erasing.version();
    for (let progress = 1; progress <= 5; progress += 1) {
      const [isOver] = await askOn('a', finished, loanMs - 1000, { dropped: number, progress });
      expect(isOver).toBe(false);
    }
    expect((await askOn('a', finished, 3000, { dropped: number, progress: 5 }))[0]).toBe(true);
    expect(keys.findForCopies(id)).toBeUndefined();
    expect(log.entries.map(({ fields }) => [fields['session'], fields['rewritten']])).toEqual([['a', 1]]);
  });

  it('is not waited for without end although it claims progress', async () => {
    const id = await current('a');
    erasing.recorded([id], 1);
    const finished = erasing.finish([id]);
    let isOver = false;
    let progress = 0;
    for (; !isOver && progress < 30; progress += 1) {
      [isOver] = await askOn('a', finished, loanMs / 2, { dropped: erasing.version().number, progress });
    }
    expect([isOver, progress]).toEqual([true, 21]);
  });

  it('is not waited for under new names, which have no keys from before the change', async () => {
    await current('a');
    const retired = erasing.retire(owner.tenant, owner.subject);
    const { number } = erasing.version();
    for (let name = 0; name < 5; name += 1) await current(`new ${String(name)}`);
    confirm('a', { dropped: number });
    expect(await settles(retired)).toBe(true);
  });
});

it('does not wait for a process that has taken its leave', async () => {
  await current('a');
  const retired = erasing.retire(owner.tenant, owner.subject);
  await keeper.handlers.leave('a', {});
  expect(await settles(retired)).toBe(true);
});

it('waits after a start for the loans of the keeper before, and counts no confirmation that was made to that one', async () => {
  await current('a');
  const { epoch, number } = erasing.version();
  keys.close();
  await start(false);
  const retired = erasing.retire(owner.tenant, owner.subject);
  await keeper.handlers.follow('a', {
    confirmed: { epoch, dropped: number + 10, rewritten: number + 10, progress: 0 },
  });
  expect(await settles(retired, loanMs)).toBe(false);
  expect(await settles(retired, 1000)).toBe(true);
});

it('counts no number that a process has confirmed to another keeper', async () => {
  const id = await current('a');
  await keeper.handlers.follow('a', { confirmed: { epoch: 'another', dropped: 100, rewritten: 100, progress: 0 } });
  const retired = erasing.retire(owner.tenant, owner.subject);
  expect(await settles(retired)).toBe(false);
  confirm('a', { dropped: erasing.version().number });
  expect(await settles(retired)).toBe(true);
  expect(await retired).toEqual([id]);
});

it('destroys a key when each process has written its copies again, with the keys of the copies before', async () => {
  const id = await current('a');
  const copy = await keeper.handlers.copies('a', { owner: 'a' });
  const gone = await keeper.handlers.copies('gone', { owner: 'gone' });
  await keeper.handlers.leave('gone', {});
  erasing.recorded([id], 1);
  const finished = erasing.finish([id]);
  const { number } = erasing.version();
  confirm('a', { dropped: number });
  expect(await settles(finished)).toBe(false);
  const next = await keeper.handlers.copies('a', { owner: 'a' });
  expect(next.id).not.toBe(copy.id);
  confirm('a', { dropped: number, rewritten: number });
  expect(await settles(finished)).toBe(true);
  expect(keys.findForCopies(id)).toBeUndefined();
  const kept = readdirSync(folder).map((file) => readFileSync(join(folder, file)).toString('latin1'));
  const isKept = (copyId: string): boolean => kept.some((bytes) => bytes.includes(copyId));
  expect([copy.id, gone.id, next.id].map(isKept)).toEqual([false, false, true]);
});

it('destroys nothing without a proof in the log', async () => {
  const id = await current('a');
  const refused = expect(keeper.handlers.destroy('stolen', { ids: [id] })).rejects.toThrow('no proof');
  await clock.advanceAsync(longMs);
  await refused;
  expect(await current('a')).toBe(id);
  const asked = keeper.handlers.destroy('a', { ids: [id] }) as Promise<unknown>;
  expect(await settles(asked)).toBe(false);
  erasing.recorded([id], 1);
  expect(await settles(asked, longMs)).toBe(true);
  expect(keys.findForCopies(id)).toBeUndefined();
});

it('lends no key whose erasure was begun', async () => {
  const id = await current('a');
  erasing.begin([id]);
  expect(await keeper.handlers.keys('a', { ids: [id, 'unknown'] })).toEqual({ keys: {}, erased: [id] });
});

it('takes back an erasure that is not recorded after two loans, and none that is recorded', async () => {
  const id = await current('a');
  erasing.begin([id]);
  await erasing.tidy();
  expect(keys.erasing()).toEqual([id]);
  await clock.advanceAsync(2 * loanMs + 1);
  await erasing.tidy();
  expect(keys.erasing()).toEqual([]);
  erasing.recorded([id], 1);
  // Another process begs to take it back.
  await keeper.handlers.keep('a', { ids: [id] });
  expect(keys.erasing()).toEqual([id]);
  const tidied = erasing.tidy();
  expect(await settles(tidied, longMs)).toBe(true);
  expect(keys.find(id)).toBe('erased');
  expect(keys.findForCopies(id)).toBeUndefined();
});

it('takes nothing back while its follower lags: the proof may be in the part of the log that it has not read', async () => {
  const id = await current('a');
  erasing.recorded([], 6);
  erasing.begin([id]);
  await clock.advanceAsync(2 * loanMs + 1);
  head = 7;
  await erasing.tidy();
  expect([keys.find(id), keys.erasing()]).toEqual(['erased', [id]]);
  erasing.recorded([id], 7);
  expect(await settles(erasing.tidy(), longMs)).toBe(true);
  expect([keys.find(id), keys.findForCopies(id)]).toEqual(['erased', undefined]);
});

it('takes back what has no proof up to the end of the log of that moment, also while the log grows', async () => {
  const id = await current('a');
  erasing.begin([id]);
  // An end that was read while the erasure could still be recorded says nothing.
  await erasing.tidy();
  await clock.advanceAsync(2 * loanMs + 1);
  head = 7;
  await erasing.tidy();
  head = 9;
  erasing.recorded([], 6);
  await erasing.tidy();
  expect(keys.erasing()).toEqual([id]);
  erasing.recorded([], 7);
  await erasing.tidy();
  expect([typeof keys.find(id), keys.erasing()]).toEqual(['object', []]);
});

it('begins to wait again when the erasure is begun again', async () => {
  const id = await current('a');
  erasing.begin([id]);
  await clock.advanceAsync(2 * loanMs + 1);
  head = 7;
  const tidied = erasing.tidy();
  erasing.begin([id]);
  erasing.recorded([], 7);
  await tidied;
  await erasing.tidy();
  expect(keys.erasing()).toEqual([id]);
});

it('takes nothing back while the end of the log cannot be read, or is before what was read, and destroys what is proven', async () => {
  const [id, other] = [await current('a'), (await keeper.handlers.current('a', { ...owner, subject: 'other' })).id];
  await keeper.handlers.leave('a', {});
  erasing.begin([id]);
  erasing.recorded([other], 7);
  await clock.advanceAsync(2 * loanMs + 1);
  head = undefined;
  await expect(erasing.tidy()).rejects.toThrow('the event store is away');
  await clock.advanceAsync(0);
  expect([keys.erasing(), keys.findForCopies(other)]).toEqual([[id], undefined]);
  head = 6;
  await expect(erasing.tidy()).rejects.toThrow('an older state');
  expect(keys.erasing()).toEqual([id]);
});

it('takes back what a process gives up when the log has no proof from another process, without the wait', async () => {
  const id = await current('a');
  erasing.begin([id]);
  head = 7;
  await keeper.handlers.keep('a', { ids: [id, 'unknown'] });
  await erasing.tidy();
  expect([keys.find(id), keys.erasing()]).toEqual(['erased', [id]]);
  erasing.recorded([], 7);
  await erasing.tidy();
  expect([typeof keys.find(id), keys.erasing()]).toEqual(['object', []]);
});

it('destroys nothing again once the log of keys.db, which a backup kept busy, is empty', async () => {
  const id = await current('a');
  await keeper.handlers.leave('a', {});
  const { destroy } = keys;
  const destroying = jest.spyOn(keys, 'destroy').mockImplementation((ids) => {
    destroy(ids);
    if (ids.includes(id)) throw new KeysUnavailableError('keys.db is in use by another process');
  });
  erasing.recorded([id], 1);
  await expect(erasing.tidy()).rejects.toThrow('in use');
  expect(keys.findForCopies(id)).toBeUndefined();
  destroying.mockClear();
  for (let n = 0; n < 3; n++) await erasing.tidy();
  expect(destroying.mock.calls).toEqual([[[]]]);
});

it('destroys after a start a key whose erasure is recorded, with the key of the known requests, and does not lend it', async () => {
  const id = await current('a');
  const known = requestsKey.hash()(body);
  erasing.begin([id]);
  keys.close();
  await start(false);
  erasing.recorded([id], 1);
  expect(await keeper.handlers.keys('a', { ids: [id] })).toEqual({ keys: {}, erased: [id] });
  await keeper.handlers.leave('a', {});
  expect(await settles(erasing.tidy(), longMs)).toBe(true);
  expect([keys.find(id), keys.findForCopies(id), keys.erasing()]).toEqual(['erased', undefined, []]);
  expect(requestsKey.hash()(body)).not.toBe(known);
});

it('takes back after a start an erasure that is not recorded, and keeps the key of the known requests', async () => {
  const id = await current('a');
  const known = requestsKey.hash()(body);
  erasing.begin([id]);
  keys.close();
  await start(false);
  await erasing.tidy();
  expect(keys.erasing()).toEqual([id]);
  await clock.advanceAsync(2 * loanMs + 1);
  await erasing.tidy();
  expect([typeof keys.find(id), keys.erasing()]).toEqual(['object', []]);
  expect(requestsKey.hash()(body)).toBe(known);
});
