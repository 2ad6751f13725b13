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
const answers = (answer: Answer) => (commandId: string) => {
  commandIds.push(commandId);
  return Promise.resolve(answer);
};
const first: Answer = { status: 201, body: { n: 1 }, position: 7 };
const second: Answer = { status: 200, body: { n: 2 } };

describe('a sealed answer', () => {
  const sealOf = (key: string) => ({
    hash: (bytes: Uint8Array) => `${key}:${String(bytes.length)}`,
    close: (text: string) => `${key}:${Buffer.from(text).toString('hex')}`,
    open: (stored: string) =>
      stored.startsWith(`${key}:`) ? Buffer.from(stored.slice(key.length + 1), 'hex').toString() : undefined,
  });

  it('is stored encrypted, and given again', async () => {
    const sealed = createIdempotency({ store, clock, log, seal: () => sealOf('one') });
    await sealed.answer(keyed(), answers({ status: 200, body: { password: 'hunter2' } }));
    expect(await sealed.answer(keyed(), answers(second))).toMatchObject({ body: { password: 'hunter2' } });
    const files = ['idempotency.db', 'idempotency.db-wal'].map((name) => readFileSync(join(folder, name)));
    expect(Buffer.concat(files).includes('hunter2')).toBe(false);
  });

  it('is lost with its key, and then its request is a new command', async () => {
    let seal = sealOf('one');
    const sealed = createIdempotency({ store, clock, log, seal: () => seal });
    await sealed.answer(keyed(), answers(first));
    seal = sealOf('two');
    expect(await sealed.answer(keyed(), answers(second))).toEqual(second);
    expect(new Set(commandIds).size).toBe(2);
  });

  it('is closed under the key that its request was hashed with, also when the key changes meanwhile', async () => {
    let seal = sealOf('one');
    const sealed = createIdempotency({ store, clock, log, seal: () => seal });
    await sealed.answer(keyed(), (commandId) => {
      seal = sealOf('two');
      return answers(first)(commandId);
    });
    expect(await sealed.answer(keyed(), answers(second))).toEqual(second);
  });

  it('leaves no bytes behind when all are cleared', async () => {
    await idempotency.answer(keyed(), answers({ status: 200, body: 'hunter2' }));
    store.clear();
    const files = ['idempotency.db', 'idempotency.db-wal'].map((name) => readFileSync(join(folder, name)));
    expect(Buffer.concat(files).includes('hunter2')).toBe(false);
  });
});

describe('a repeated key', () => {
  it('gets the first answer again, body, status and position', async () => {
    expect(await idempotency.answer(keyed(), answers(first))).toEqual(first);
    expect(await idempotency.answer(keyed(), answers(second))).toEqual(first);
    expect(commandIds).toHaveLength(1);
  });

  it('was answered although the answer could not be kept, and is asked of the log', async () => {
    const save = (): never => {
      throw new Error('database or disk is full');
    };
    const full = createIdempotency({ store: { ...store, save }, clock, log });
    expect(await full.answer(keyed(), answers(first))).toEqual(first);
    expect(await full.answer(keyed(), answers(second))).toEqual(second);
    expect(commandIds[0]).toBe(commandIds[1]);
  });

  it('gets it after a restart too', async () => {
    await idempotency.answer(keyed(), answers(first));
    store.close();
    store = createIdempotencyStore(join(folder, 'idempotency.db'));
    const again = createIdempotency({ store, clock, log });
    expect(await again.answer(keyed(), answers(second))).toEqual(first);
  });

  it('with another body is refused, also while the first one runs', async () => {
    const other = keyed({ bytes: Buffer.from('{"a":2}') });
    const running = idempotency.answer(keyed(), answers(first));
    expect(await idempotency.answer(other, answers(second))).toMatchObject({
      status: 409,
      code: 'idempotency-key-reused',
    });
    await running;
    expect(await idempotency.answer(other, answers(second))).toMatchObject({
      status: 409,
      code: 'idempotency-key-reused',
    });
    expect(commandIds).toHaveLength(1);
  });

  it('is another one for another principal, tenant or path', async () => {
    await idempotency.answer(keyed(), answers(first));
    const others = [
      keyed({ actor: actorOf('agent2-token') }),
      keyed({ actor: actorOf('other-token') }),
      keyed({ target: 'POST /v1/approvals/responses' }),
    ];
    for (const other of others) expect(await idempotency.answer(other, answers(second))).toEqual(second);
    expect(new Set(commandIds).size).toBe(4);
  });

  it('waits for the first one that runs, and shares its answer', async () => {
    let finish: (answer: Answer) => void = () => undefined;
    const slow = new Promise<Answer>((resolve) => {
      finish = resolve;
    });
    const all = [idempotency.answer(keyed(), () => slow), idempotency.answer(keyed(), answers(second))];
    finish(first);
    expect(await Promise.all(all)).toEqual([first, first]);
  });

  it('is forgotten after a day', async () => {
    await idempotency.answer(keyed(), answers(first));
    clock.advance(24 * 60 * 60 * 1000 + 1);
    expect(await idempotency.answer(keyed(), answers(second))).toEqual(second);
    store.purge(clock.now() + 1);
    expect(await idempotency.answer(keyed(), answers(first))).toEqual(first);
  });
});

describe('an answer', () => {
  it('of a refusal is kept: it was decided', async () => {
    const refusal: Answer = { status: 409, body: { code: 'already-voted' } };
    await idempotency.answer(keyed(), answers(refusal));
    expect(await idempotency.answer(keyed(), answers(second))).toEqual(refusal);
  });

  it.each([500, 503, 429])('of status %i is not kept, and the repeat is the same command', async (status) => {
    await idempotency.answer(keyed(), answers({ status, body: {} }));
    expect(await idempotency.answer(keyed(), answers(second))).toEqual(second);
    expect(new Set(commandIds).size).toBe(1);
  });

  it('that was thrown is not kept, and every waiting request gets the same error', async () => {
    const fail = () => Promise.reject(new Error('the store is away'));
    const both = await Promise.allSettled([
      idempotency.answer(keyed(), fail),
      idempotency.answer(keyed(), answers(second)),
    ]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await idempotency.answer(keyed(), answers(second))).toEqual(second);
  });
});

it('the file is for its owner alone', () => {
  expect(statSync(join(folder, 'idempotency.db')).mode & 0o777).toBe(0o600);
});
