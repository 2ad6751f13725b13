import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { KeysUnavailableError } from '@countersign/event-store';
import { openEncodedServer } from '@countersign/http-client/testing';
import { Secret, systemClock } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import { openKeeperApp } from './keeper-app.js';
import { createKeeperClient, KeeperRefusedError } from './keeper-client.js';
import type { KeeperClient } from './keeper-client.js';
import type { Keeper } from './keeper.js';

const token = 'the-token-of-a-process-of-this-test';
const otherToken = 'a-token-of-another-process';
const version = { epoch: 'one', number: 3, erased: 'none' };
const secret = Buffer.from('the bytes of a key, thirty-two..').toString('base64');
const log = createCollectingLog();

let app: Awaited<ReturnType<typeof openKeeperApp>>;
let client: KeeperClient;
let fails: Error | undefined;

const clientWith = (given: string, url = app.url): KeeperClient =>
  createKeeperClient({ url: new URL(url), token: new Secret(given), ca: null }, 'a-session', systemClock);

beforeEach(async () => {
  fails = undefined;
  const handlers = {
    current: (session: string) => {
      if (fails !== undefined) throw fails;
      return { id: session, bytes: secret };
    },
  } as unknown as Keeper['handlers'];
  const tokens = [new Secret(otherToken), new Secret(token)];
  app = await openKeeperApp({ handlers, version: () => version }, log, {
    host: '127.0.0.1',
    port: 0,
    tls: null,
    tokens,
  });
  client = clientWith(token);
});
afterEach(async () => {
  client.close();
  await app.close();
});

const owner = { tenant: 'default', subject: 'customer' };

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const send = (path: string, { method = 'POST', headers = {}, body }: Sent = {}): Promise<Response> =>
  fetch(`${app.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body }),
  });

it('answers a process with a token of the file, and says which version the keys have', async () => {
  expect(await client.ask('current', owner)).toEqual({ version, answer: { id: '1 a-session', bytes: secret } });
});

it('keeps the sessions of two tokens apart, also when they have one name', async () => {
  const other = clientWith(otherToken);
  const of = async (asking: KeeperClient): Promise<string> => (await asking.ask('current', owner)).answer.id;
  expect(await of(other)).not.toBe(await of(client));
  expect(await of(client)).toBe(await of(client));
  other.close();
});

it('a keeper that compresses its answer cannot be asked', async () => {
  const encoded = await openEncodedServer();
  encoded.answerWith(['br'], JSON.stringify({ version, answer: { id: '1', bytes: secret } }));
  const asking = clientWith(token, encoded.url);
  await expect(asking.ask('current', owner)).rejects.toThrow(/cannot be asked.*content-encoding: br/);
  expect(encoded.received).toEqual([expect.stringContaining('accept-encoding: identity\r\n')]);
  asking.close();
  await encoded.close();
});

it.each(['', 'Bearer ', `Basic ${token}`, `Bearer ${token}x`, `Bearer ${token.slice(1)}`])(
  'refuses %j before it looks at the request',
  async (authorization) => {
    const answer = await send('/v1/current', { headers: { authorization }, body: 'no JSON' });
    expect([answer.status, await answer.json()]).toMatchObject([401, { code: 'unauthenticated' }]);
  },
);

it('tells a process with another token what to set', async () => {
  const other = clientWith('another-token');
  await expect(other.ask('current', owner)).rejects.toThrow(KeeperRefusedError);
  await expect(other.ask('current', owner)).rejects.toThrow('COUNTERSIGN_KEEPER_TOKEN_FILE');
  other.close();
});

it('takes nothing but its requests, and none that is too long', async () => {
  const statusOf = async (path: string, sent?: Sent): Promise<number> => (await send(path, sent)).status;
  expect(await statusOf('/v1/everything')).toBe(404);
  expect(await statusOf('/v1/current', { method: 'GET' })).toBe(405);
  expect(await statusOf('/v1/current', { body: '{"session":"a","session":"b"}' })).toBe(400);
  expect(await statusOf('/v1/current', { body: JSON.stringify({ session: 'a', body: { tenant: 1 } }) })).toBe(400);
  const long = JSON.stringify({ session: 'a', body: { ...owner, subject: 'x'.repeat(70_000) } });
  expect(await statusOf('/v1/current', { body: long })).toBe(413);
});

it('is unavailable to the client when it fails or is gone', async () => {
  fails = new Error('a failure of its own');
  await expect(client.ask('current', owner)).rejects.toThrow('it answered with status 500');
  await app.close();
  const gone = client.ask('current', owner);
  await expect(gone).rejects.toThrow(KeysUnavailableError);
  await expect(gone).rejects.toThrow('the keeper of the keys cannot be asked');
});

it('writes no key and no token to its log', async () => {
  await client.ask('current', owner);
  await send('/v1/current', { body: '{"session":' });
  fails = new Error('a failure of its own');
  await client.ask('current', owner).catch(() => undefined);
  expect(log.entries.length).toBeGreaterThan(0);
  const text = JSON.stringify(log.entries);
  expect([text.includes(secret), text.includes(token)]).toEqual([false, false]);
});
