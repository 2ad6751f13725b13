import { ProblemError } from '@countersign/shell';
import type { ReadinessCheck } from '@countersign/shell';
import { Secret, systemClock } from '@countersign/runtime';
import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';
import { afterEach, expect, it } from '@jest/globals';
import { openNotaryApp } from './notary-app.js';
import type { AnsweringNotary } from './notary-app.js';
import { createNotaryClient } from './notary-client.js';
import { watchRewound } from './watch-rewound.js';

const token = 'the-token-of-the-gateways-of-this-test';
const closes: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

/** A notary that answers with its name. */
async function openNotary(name: string, isActive: () => boolean, whyReadOnly = (): string | undefined => undefined) {
  const notary: AnsweringNotary = {
    newest: (tenant) => (tenant === 'acme' ? `newest of ${name}` : undefined),
    keyChanges: () => [],
    timestamps: (_tenant, { size = 3 }) =>
      Promise.resolve([{ epoch: 1, size, text: name, time: '2026-11-01T00:00:00.000Z', reply: Uint8Array.of(1, 255) }]),
    vkeys: () => Promise.resolve([`vkey of ${name}`]),
    sign: () =>
      Promise.resolve(
        isActive() ? { status: 'signed', note: `signed by ${name}` } : { status: 'unavailable', why: 'on standby' },
      ),
    rewound: (tenant) => (tenant === 'acme' ? { why: 'shorter', checkpoint: `newest of ${name}` } : undefined),
    whyReadOnly,
    goOn: () => Promise.resolve({ status: 'signed', note: `epoch 2 of ${name}` }),
    isActive,
    tenants: () => ['acme'],
    hashTile: (_tenant, level, index) => Promise.resolve(Uint8Array.of(level, index, 255)),
    entryTile: () => Promise.resolve(['{"v":1}']),
    prove: () => Promise.resolve([{ index: 3, entry: '{}', proof: 'p', body: { data: { a: 1 }, metadata: null } }]),
  };
  const app = await openNotaryApp(notary, createCollectingLog(), {
    ...{ host: '127.0.0.1', port: 0, tls: null },
    tokens: [new Secret(token)],
  });
  closes.push(app.close);
  return app;
}

function ask(urls: readonly string[], given = token) {
  const connection = { urls: urls.map((url) => new URL(url)), token: new Secret(given), ca: null };
  const client = createNotaryClient(connection, systemClock);
  closes.push(client.close);
  return client;
}

const problemOf = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);

it('a gateway asks the active notary, wherever it is', async () => {
  let active = 'two';
  const [one, two] = [await openNotary('one', () => active === 'one'), await openNotary('two', () => active === 'two')];
  const client = ask([one.url, two.url]);
  expect(await client.newest('acme')).toBe('newest of two');
  expect(await client.newest('other')).toBeUndefined();
  expect(await client.vkeys('acme')).toEqual(['vkey of two']);
  expect(await client.rewound('acme')).toEqual({ why: 'shorter', checkpoint: 'newest of two' });
  expect(await client.rewound('other')).toBeUndefined();
  expect(await client.goOn('acme')).toEqual({ status: 'signed', note: 'epoch 2 of two' });
  expect(await client.tenants()).toEqual(['acme']);
  expect([...(await client.hashTile('acme', 2, 7))]).toEqual([2, 7, 255]);
  expect(await client.entryTile('acme', 0)).toEqual(['{"v":1}']);
  expect(await client.prove('acme', 'toolCall-1', 'note')).toEqual([
    { index: 3, entry: '{}', proof: 'p', body: { data: { a: 1 }, metadata: null } },
  ]);
  const [stamp] = await client.timestamps('acme', { size: 9, after: { epoch: 1, size: 8 }, limit: 1 });
  expect([stamp, [...(stamp?.reply ?? [])]]).toEqual([expect.objectContaining({ size: 9, text: 'two' }), [1, 255]]);
  active = 'one';
  expect(await client.sign('acme')).toEqual({ status: 'signed', note: 'signed by one' });
});

it('a gateway reads from the notary that stands by while the active one is away, and nothing is signed', async () => {
  const [one, two] = [await openNotary('one', () => true), await openNotary('two', () => false)];
  await one.close();
  const client = ask([one.url, two.url]);
  expect(await client.newest('acme')).toBe('newest of two');
  expect(await client.sign('acme')).toEqual({ status: 'unavailable', why: 'on standby' });
});

it('a process learns within a second that the log is read-only, also while no notary answers, and when it is not any more', async () => {
  let why: string | undefined;
  const app = await openNotary(
    'one',
    () => true,
    () => why,
  );
  const client = ask([app.url]);
  const [log, stopping] = [createCollectingLog(), new AbortController()];
  closes.push(() => stopping.abort());
  let isAway = false;
  const readOnly = (): Promise<string | undefined> =>
    isAway ? Promise.reject(new Error('no notary answers')) : client.readOnly();
  const clock = createVirtualClock();
  const checks: ReadinessCheck[] = [];
  const check = (one: ReadinessCheck): void => void checks.push(one);
  const whyReadOnly = watchRewound({ clock, log, stopping: stopping.signal, check }, { readOnly });
  const until = async (wanted: string | undefined): Promise<void> => {
    for (let tries = 0; tries < 5000 && whyReadOnly() !== wanted; tries += 1) {
      await clock.advanceAsync(100);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(whyReadOnly()).toBe(wanted);
  };
  await until(undefined);
  why = 'log-rewound: shorter';
  await until('log-rewound: shorter');
  isAway = true;
  await clock.advanceAsync(5_000);
  expect(whyReadOnly()).toBe('log-rewound: shorter');
  expect(checks.map((one) => [one.name, one.check()])).toEqual([
    ['log', { status: 'ok', note: 'read-only: log-rewound: shorter' }],
  ]);
  [isAway, why] = [false, undefined];
  await until(undefined);
  expect(log.entries.map(({ message }) => message)).toEqual(['the log is read-only', 'the log is writable again']);
});

it('a gateway says when no notary answers, and why', async () => {
  const app = await openNotary('one', () => true);
  const wrong = await problemOf(Promise.resolve(ask([app.url], 'another-token-of-somebody-else').newest('acme')));
  expect(wrong).toBeInstanceOf(ProblemError);
  expect((wrong as Error).message).toContain('COUNTERSIGN_NOTARY_TOKEN_FILE');
  await app.close();
  const gone = await problemOf(Promise.resolve(ask([app.url]).newest('acme')));
  expect(gone).toBeInstanceOf(ProblemError);
  expect((gone as Error).message).toMatch(/^no notary of the cluster answers: /);
});

it('a notary refuses a request without the token, and one that it does not know', async () => {
  const app = await openNotary('one', () => true);
  const send = (path: string, headers: Readonly<Record<string, string>>, body: string): Promise<Response> =>
    fetch(`${app.url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });
  const authorization = `Bearer ${token}`;
  expect((await send('/v1/sign', {}, '{"tenant":"acme"}')).status).toBe(401);
  expect((await send('/v1/sign', { authorization }, '{"tenant":7}')).status).toBe(400);
  expect((await send('/v1/key', { authorization }, '{}')).status).toBe(404);
});
