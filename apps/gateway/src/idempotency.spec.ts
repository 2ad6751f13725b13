import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Answer } from './answer.js';
import { createIdempotency } from './idempotency.js';
import type { Idempotency, IdempotencyStore, KeyedRequest } from './idempotency.js';
import { createIdempotencyStore } from './sqlite/idempotency-store.js';
import { actorOf } from './testing/world.js';

const clock = createVirtualClock();
const log = createSilentLog();
let folder = '';
let store: IdempotencyStore;
let idempotency: Idempotency;
let commandIds: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-idempotency-'));
  store = createIdempotencyStore(join(folder, 'idempotency.db'));
  idempotency = createIdempotency({ store, clock, log });
  commandIds = [];
});
afterEach(() => {
  store.close();
  rmSync(folder, { recursive: true });
});

const keyed = (more: Partial<KeyedRequest> = {}): KeyedRequest => ({
  actor: actorOf('agent-token'),
  target: 'POST /v1/tool-calls',
  key: 'key-1',
  bytes: Buffer.from('{"a":1}'),
  ...more,
});
const other = keyed({ bytes: Buffer.from('{"a":2}') });
const answers = (answer: Answer) => (commandId: string) => {
  commandIds.push(commandId);
  return Promise.resolve(answer);
};
const first: Answer = { status: 201, body: { n: 1 }, position: 7 };
const second: Answer = { status: 200, body: { n: 2 }, position: 8 };
const reused = { status: 409, code: 'idempotency-key-reused' };
const bytesOfFiles = () =>
  Buffer.concat(['idempotency.db', 'idempotency.db-wal'].map((name) => readFileSync(join(folder, name))));

describe('a repeated key', () => {
  it('is the same command, whose answer tells of now', async () => {
    expect(await idempotency.answer(keyed(), answers(first))).toEqual(first);
    expect(await idempotency.answer(keyed(), answers(second))).toEqual({ ...second, status: 201, isRepeat: true });
    expect(new Set(commandIds).size).toBe(1);
  });

  it('of a command that is refused by now is that refusal', async () => {
    await idempotency.answer(keyed(), answers(first));
    const refusal = { status: 409, body: { code: 'already-claimed' } };
    expect(await idempotency.answer(keyed(), answers(refusal))).toEqual({ ...refusal, isRepeat: true });
  });

  it('is the same command after a restart, a lost file and another key of the hashes', async () => {
    await idempotency.answer(keyed(), answers(first));
    store.close();
    store = createIdempotencyStore(':memory:');
    const requestHash = () => (bytes: Uint8Array) => `two:${String(bytes.length)}`;
    const again = createIdempotency({ store, clock, log, requestHash });
    await again.answer(keyed(), answers(second));
    expect(new Set(commandIds).size).toBe(1);
  });

  it('with another body is refused, also while the first one runs and after a restart', async () => {
    const running = idempotency.answer(keyed(), answers(first));
    expect(await idempotency.answer(other, answers(second))).toMatchObject(reused);
    await running;
    expect(await idempotency.answer(other, answers(second))).toMatchObject(reused);
    store.close();
    store = createIdempotencyStore(join(folder, 'idempotency.db'));
    expect(await createIdempotency({ store, clock, log }).answer(other, answers(second))).toMatchObject(reused);
    expect(commandIds).toHaveLength(1);
  });

  it('is another one for another principal, tenant or path', async () => {
    await idempotency.answer(keyed(), answers(first));
    const others = [
      keyed({ actor: actorOf('agent2-token') }),
      keyed({ actor: actorOf('other-token') }),
      keyed({ target: 'POST /v1/approvals/responses' }),
    ];
    for (const one of others) expect(await idempotency.answer(one, answers(second))).toEqual(second);
    expect(new Set(commandIds).size).toBe(4);
  });

  it('waits for the first one that runs, and shares its answer', async () => {
    let finish: (answer: Answer) => void = () => undefined;
    const slow = new Promise<Answer>((resolve) => {
      finish = resolve;
    });
    const all = [idempotency.answer(keyed(), () => slow), idempotency.answer(keyed(), answers(second))];
    finish(first);
    expect(await Promise.all(all)).toEqual([first, { ...first, isRepeat: true }]);
  });

  it('may have another body after a day', async () => {
    await idempotency.answer(keyed(), answers(first));
    clock.advance(24 * 60 * 60 * 1000 + 1);
    expect(await idempotency.answer(other, answers(second))).toEqual(second);
  });

  it('gets its answer although it could not be remembered', async () => {
    const save = (): never => {
      throw new Error('database or disk is full');
    };
    const full = createIdempotency({ store: { ...store, save }, clock, log });
    expect(await full.answer(keyed(), answers(first))).toEqual(first);
  });
});

describe('a request', () => {
  it.each<Answer>([
    { status: 409, body: { code: 'not-approved' } },
    { status: 503, body: {} },
  ])('that was refused is not remembered: %o', async (answer) => {
    await idempotency.answer(keyed(), answers(answer));
    expect(await idempotency.answer(other, answers(second))).toEqual(second);
  });

  it('that failed is not remembered, and every waiting request gets the same error', async () => {
    const fail = () => Promise.reject(new Error('the store is away'));
    const both = await Promise.allSettled([
      idempotency.answer(keyed(), fail),
      idempotency.answer(keyed(), answers(second)),
    ]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await idempotency.answer(keyed(), answers(second))).toEqual(second);
  });

  it('leaves neither its body nor its answer in the file', async () => {
    await idempotency.answer(keyed({ bytes: Buffer.from('hunter2') }), answers({ ...first, body: 'hunter3' }));
    expect(bytesOfFiles().toString('latin1')).not.toMatch(/hunter/);
  });
});

describe('the file', () => {
  const request = (n: number, owner: string) => ({
    ...{ scope: `${owner} ${String(n)}`.padEnd(64, '.'), owner: owner.padEnd(16, '.'), bodyHash: 'h'.repeat(101) },
    ...{ status: 201, position: n, storedAtMs: n },
  });
  const small = (limits: { perOwner: number; inAll: number }) => {
    store.close();
    store = createIdempotencyStore(join(folder, 'idempotency.db'), limits);
  };
  const kept = (owner: string, count: number): number[] =>
    Array.from({ length: count }, (_, n) => n).filter((n) => store.find(request(n, owner).scope) !== undefined);

  it('is for its owner alone', () => {
    expect(statSync(join(folder, 'idempotency.db')).mode & 0o777).toBe(0o600);
  });

  it('keeps a limited number of requests per principal, without the oldest', () => {
    small({ perOwner: 3, inAll: 100 });
    for (let n = 0; n < 5; n += 1) store.save(request(n, 'a'));
    store.save(request(4, 'a'));
    store.save(request(0, 'b'));
    expect([kept('a', 5), kept('b', 5)]).toEqual([[2, 3, 4], [0]]);
    small({ perOwner: 3, inAll: 100 });
    store.save(request(5, 'a'));
    expect(kept('a', 6)).toEqual([3, 4, 5]);
  });

  it('keeps a limited number in all, without the oldest of the principal that has the most', () => {
    small({ perOwner: 10, inAll: 6 });
    store.save(request(0, 'quiet'));
    for (let n = 0; n < 9; n += 1) store.save(request(n, 'loud'));
    expect([kept('quiet', 9), kept('loud', 9)]).toEqual([[0], [4, 5, 6, 7, 8]]);
  });

  it('needs less than 5 MiB for all requests of one principal, and gives it back', () => {
    for (let n = 0; n < 20_000; n += 1) store.save(request(n, 'a'));
    const size = (): number => statSync(join(folder, 'idempotency.db')).size;
    store.close();
    expect(size()).toBeLessThan(5 * 1024 * 1024);
    store = createIdempotencyStore(join(folder, 'idempotency.db'));
    store.purge(30_000);
    store.close();
    expect(size()).toBeLessThan(64 * 1024);
    store = createIdempotencyStore(join(folder, 'idempotency.db'));
  });
});
