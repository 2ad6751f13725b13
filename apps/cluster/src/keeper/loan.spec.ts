import { createSecretKey, randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { KeysUnavailableError } from '@countersign/event-store';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import type { VirtualClock } from '@countersign/runtime/testing';
import { createBorrowedKeys } from './borrowed-keys.js';
import type { BorrowedKeys } from './borrowed-keys.js';
import { away } from './keeper-client.js';
import type { KeeperClient } from './keeper-client.js';
import { createLoan } from './loan.js';
import type { Borrower, Loan } from './loan.js';
import type { Answer, Body, Confirmed, RequestName, Version } from './protocol.js';

const loanMs = 60_000;
const owner = ['default', 'customer'] as const;

let clock: VirtualClock;
let version: Version;
let isAway: boolean;
/** Waited for before an answer is on its way. */
let onItsWay: Promise<unknown>;
let asked: RequestName[];
let told: Confirmed | undefined;
let current: string;
let steps: string[];
let settling: Promise<void>;
let loan: Loan;
let keys: BorrowedKeys;
let stopping: AbortController;

const bytes = createSecretKey(randomBytes(32)).export().toString('base64');

/** Returns the keeper's answer. */
function answerTo<Name extends RequestName>(name: Name, body: Body<Name>): Answer<RequestName> {
  if (name === 'follow') {
    told = (body as Body<'follow'>).confirmed;
    return { loanMs };
  }
  if (name === 'current' || name === 'copies') return { id: current, bytes };
  if (name === 'keys')
    return { keys: Object.fromEntries((body as Body<'keys'>).ids.map((id) => [id, bytes])), erased: [] };
  return { ids: [] };
}

const ask: KeeperClient['ask'] = async (name, body) => {
  asked.push(name);
  if (isAway) throw away('ECONNREFUSED');
  const reply = { version, answer: answerTo(name, body) as Answer<typeof name> };
  await onItsWay;
  return reply;
};

const borrower: Borrower = {
  drop: () => {
    steps.push('drop');
    keys.drop();
  },
  settled: async () => {
    await settling;
    await keys.settled();
    steps.push('settled');
  },
  forget: () => void steps.push('forget'),
  rewrite: async () => {
    steps.push('rewrite');
    await setImmediate();
  },
  progress: () => 7,
  ended: () => void steps.push('ended'),
};

const change = (more: Partial<Version> = {}): void => {
  version = { ...version, number: version.number + 1, ...more };
};

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn += 1) await setImmediate();
};

beforeEach(async () => {
  clock = createVirtualClock();
  version = { epoch: 'one', number: 1, erased: 'none' };
  [isAway, asked, steps, current] = [false, [], [], 'key-1'];
  [onItsWay, settling] = [Promise.resolve(), Promise.resolve()];
  stopping = new AbortController();
  loan = createLoan({ client: { ask }, clock, log: createSilentLog(), stopping: stopping.signal });
  keys = createBorrowedKeys(loan);
  await loan.begin(borrower);
  await settle();
  void loan.run();
});

describe('a loan', () => {
  it('ends a fixed time after the last answered request was sent, and drops every key', async () => {
    await keys.current(...owner);
    isAway = true;
    await clock.advanceAsync(loanMs - 1);
    expect(loan.isLive()).toBe(true);
    steps.length = 0;
    clock.advance(1);
    expect(loan.isLive()).toBe(false);
    expect(steps).toEqual(['drop', 'forget', 'ended']);
    expect(() => keys.current(...owner)).toThrow(KeysUnavailableError);
    await expect(keys.load(['key-1'])).rejects.toThrow('the keeper of the keys cannot be asked');
  });

  it('is counted from the request, not from its answer', async () => {
    stopping.abort();
    const sent = Promise.withResolvers<undefined>();
    onItsWay = sent.promise;
    loan = createLoan({ client: { ask }, clock, log: createSilentLog(), stopping: new AbortController().signal });
    const beginning = loan.begin(borrower);
    clock.advance(loanMs);
    sent.resolve(undefined);
    await beginning;
    expect(loan.isLive()).toBe(false);
  });

  it('ends also on a machine whose monotonic clock stood still, and under a wall clock that was put back', () => {
    clock.jump(-10 * loanMs);
    expect(loan.isLive()).toBe(true);
    clock.jump(11 * loanMs);
    expect(loan.isLive()).toBe(false);
  });

  it('goes on when the keeper is back, and looks at its copies once more', async () => {
    isAway = true;
    await clock.advanceAsync(loanMs + 1000);
    expect(loan.isLive()).toBe(false);
    isAway = false;
    steps.length = 0;
    await clock.advanceAsync(1000);
    await settle();
    expect(loan.isLive()).toBe(true);
    expect(steps).toEqual(['rewrite']);
    expect(await keys.current(...owner)).toMatchObject({ id: 'key-1' });
  });
});

it('asks once each second, and at once to confirm a change', async () => {
  asked.length = 0;
  for (let second = 0; second < 5; second += 1) await clock.advanceAsync(1000);
  expect(asked.length).toBe(5);
  change();
  await clock.advanceAsync(1000);
  await settle();
  expect(asked.length).toBeGreaterThan(6);
  expect(asked.length).toBeLessThan(10);
});

describe('a change of the keys', () => {
  const newest = async (): Promise<Confirmed | undefined> => {
    await clock.advanceAsync(1000);
    await settle();
    await clock.advanceAsync(1000);
    return told;
  };

  it('is confirmed when the keys are dropped and what was under way has ended', async () => {
    const append = Promise.withResolvers<undefined>();
    settling = append.promise;
    change();
    steps.length = 0;
    expect(await newest()).toEqual({ epoch: 'one', dropped: 1, rewritten: 1, progress: 7 });
    expect(steps).toEqual(['drop']);
    append.resolve(undefined);
    expect(await newest()).toEqual({ epoch: 'one', dropped: 2, rewritten: 2, progress: 7 });
    expect(steps).toEqual(['drop', 'settled']);
  });

  it('has the copies written again when other values read as erased, after the keys were dropped', async () => {
    change({ erased: 'key-1' });
    steps.length = 0;
    expect(await newest()).toEqual({ epoch: 'one', dropped: 2, rewritten: 2, progress: 7 });
    expect(steps).toEqual(['drop', 'forget', 'settled', 'rewrite']);
  });

  it('counts from its beginning at a keeper that was started again', async () => {
    change({ epoch: 'two', number: 1 });
    expect(await newest()).toEqual({ epoch: 'two', dropped: 1, rewritten: 1, progress: 7 });
  });
});

describe('borrowed keys', () => {
  it('are kept until the keys change', async () => {
    await keys.current(...owner);
    await keys.load(['a']);
    asked.length = 0;
    expect(await keys.current(...owner)).toMatchObject({ id: 'key-1' });
    await keys.load(['a']);
    expect(asked).toEqual([]);
    change();
    current = 'key-2';
    await clock.advanceAsync(1000);
    await settle();
    expect(await keys.current(...owner)).toMatchObject({ id: 'key-2' });
  });

  it('are not kept when the keys were dropped while they were on their way', async () => {
    const sent = Promise.withResolvers<undefined>();
    onItsWay = sent.promise;
    const first = keys.current(...owner);
    keys.drop();
    current = 'key-2';
    // Not that of the request before the drop either.
    const second = keys.current(...owner);
    sent.resolve(undefined);
    expect([await first, await second]).toMatchObject([{ id: 'key-1' }, { id: 'key-2' }]);
    expect(await keys.current(...owner)).toMatchObject({ id: 'key-2' });
  });

  it('of an answer that came after the drop are asked for again', async () => {
    const sent = Promise.withResolvers<undefined>();
    onItsWay = sent.promise;
    const [first, page] = [keys.current(...owner), keys.load(['a'])];
    keys.drop();
    sent.resolve(undefined);
    await first;
    await page;
    asked.length = 0;
    current = 'key-2';
    expect(await keys.current(...owner)).toMatchObject({ id: 'key-2' });
    await keys.load(['a']);
    expect(asked).toEqual(['current', 'keys']);
  });

  it('are of no use when the loan has ended while they were on their way', async () => {
    const sent = Promise.withResolvers<undefined>();
    onItsWay = sent.promise;
    const coming = Promise.allSettled([keys.current(...owner), keys.load(['a'])]);
    clock.advance(loanMs);
    sent.resolve(undefined);
    expect((await coming).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  it('are missing when the keeper has no such key', async () => {
    const find = await keys.load(['a']);
    expect([typeof find('a'), find('b')]).toEqual(['object', 'missing']);
  });
});
