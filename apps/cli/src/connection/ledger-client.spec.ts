import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { knownToken, problem, startContractServer } from '../testing/contract-server.js';
import type { ContractServer } from '../testing/contract-server.js';
import { approvalOf, eventOf } from '../testing/fixtures.js';
import { until } from '../testing/fake-terminal.js';
import { followEvents } from './event-stream.js';
import { createLedgerClient } from './ledger-client.js';

let server: ContractServer;
let abort: AbortController;
beforeEach(async () => {
  abort = new AbortController();
  server = await startContractServer();
});
afterEach(async () => {
  // Also runs after a failed test, so that no reader keeps following a stopped server.
  abort.abort();
  await server.close();
});

const clientOf = (url = server.url, token: string | undefined = knownToken) =>
  createLedgerClient({ url, token, tokenSource: 'a test' }, () => Date.now());

async function freePort(): Promise<number> {
  const socket = createServer();
  await new Promise<void>((resolve) => socket.listen(0, '127.0.0.1', resolve));
  const { port } = socket.address() as AddressInfo;
  await new Promise((resolve) => socket.close(resolve));
  return port;
}

describe('a request', () => {
  it('says who asks, and that it is the command line', async () => {
    await clientOf().get('/v1/approvals', { query: { toolName: 'a b&c', runId: undefined } });
    expect(server.requests[0]).toMatchObject({
      path: '/v1/approvals?toolName=a+b%26c',
      headers: { authorization: `Bearer ${knownToken}`, 'countersign-client': 'cli' },
    });
  });

  it('is repeated under one key when the connection broke, so that it counts once', async () => {
    let broken = 2;
    server.intercept = () => (broken-- > 0 ? 'hang up' : { status: 200, body: { ok: true } });
    expect(await clientOf().post('/v1/x', { body: { a: 1 } })).toEqual({ ok: true });
    const keys = server.requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
  });

  it.each(['get', 'post', 'delete'] as const)(
    '%s waits as long as the server asks when there were too many',
    async (method) => {
      let refusals = 2;
      const answers: number[] = [];
      server.intercept = () => {
        answers.push(performance.now());
        if (refusals-- <= 0) return { status: 200, body: { ok: true } };
        return { ...problem(429, 'too-many-requests', 'no'), headers: { 'retry-after': '1' } };
      };
      expect(await clientOf()[method]('/v1/x')).toEqual({ ok: true });
      expect(answers).toHaveLength(3);
      expect((answers[2] ?? 0) - (answers[0] ?? 0)).toBeGreaterThan(1900);
    },
  );

  it('that never got an answer says that it may have arrived', async () => {
    server.intercept = () => 'hang up';
    await expect(clientOf().post('/v1/x', { body: {} })).rejects.toMatchObject({
      exitCode: 3,
      problem: { code: 'connection-lost' },
      remedy: expect.stringContaining('may have arrived'),
    });
  });

  it.each([
    [400, 'invalid-request', 5],
    [401, 'unauthenticated', 4],
    [403, 'forbidden', 4],
    [403, 'own-request', 4],
    [404, 'unknown-approval', 6],
    [409, 'already-resolved', 5],
    [410, 'expired', 5],
    [422, 'invalid-arguments', 5],
    [429, 'too-many-requests', 7],
    [500, 'internal-error', 1],
    [503, 'unavailable', 7],
  ])('refused with %d %s ends with %d', async (status, code, exitCode) => {
    server.intercept = () => problem(status, code, 'no', { extra: 1 });
    await expect(clientOf().get('/v1/x')).rejects.toMatchObject({
      exitCode,
      problem: { status, code, detail: 'no', extra: 1 },
    });
  });

  it.each(['{"status":"of something else"}', '<html>', '"text"'])(
    'to something that answers %s is no Countersign',
    async (body) => {
      server.intercept = () => ({ status: 404, body });
      await expect(clientOf().get('/v1/x')).rejects.toMatchObject({
        exitCode: 1,
        problem: { code: 'not-countersign' },
      });
      server.intercept = () => ({ status: 200, body });
      await expect(clientOf().get('/v1/x')).rejects.toMatchObject({
        exitCode: 1,
        problem: { code: 'not-countersign' },
      });
    },
  );

  it('is not sent on to where the server points', async () => {
    server.intercept = () => ({ status: 302, body: {} });
    await expect(clientOf().get('/v1/x')).rejects.toMatchObject({ problem: { code: 'not-countersign' } });
    expect(server.requests).toHaveLength(1);
  });

  it('to a server that is not there names the cause and the remedy', async () => {
    const url = `http://127.0.0.1:${String(await freePort())}`;
    await expect(clientOf(url).get('/v1/x')).rejects.toMatchObject({
      exitCode: 3,
      message: `The server at ${url} cannot be reached: connection refused: nothing listens there.`,
      remedy: expect.stringContaining('countersign start'),
    });
    await expect(clientOf('http://no-such-host.invalid').get('/v1/x')).rejects.toMatchObject({
      exitCode: 3,
      remedy: expect.stringContaining('--url'),
    });
  });

  it('does not wait for ever', async () => {
    const accepted: Socket[] = [];
    const silent = createServer((socket) => void accepted.push(socket));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${String((silent.address() as AddressInfo).port)}`;
    await expect(clientOf(url).get('/v1/x', { timeoutMs: 50 })).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringContaining('no answer in time'),
    });
    for (const socket of accepted) socket.destroy();
    silent.close();
  });

  it('tells the time of the server when this machine is wrong', async () => {
    const wrong = createLedgerClient(
      { url: server.url, token: knownToken, tokenSource: 'a test' },
      () => Date.now() - 3_600_000,
    );
    await wrong.get('/v1/approvals');
    expect(Math.abs(wrong.serverNow() - Date.now())).toBeLessThan(60_000);
  });
});

describe('following events', () => {
  const approval = approvalOf();

  it('goes on after a lost connection without gap or repeat', async () => {
    const seen: number[] = [];
    const lost: boolean[] = [];
    const following = (async () => {
      const options = {
        after: 0,
        signal: abort.signal,
        onConnection: (error: unknown) => lost.push(error !== undefined),
      };
      for await (const event of followEvents(clientOf(), options)) seen.push(event.position);
    })();
    for (let position = 1; position <= 9; position += 1) {
      server.record(eventOf(approval, 'ApprovalRequested', position));
      await until(() => seen.length === position || position % 3 === 0);
      if (position % 3 === 0) server.dropStreams();
    }
    await until(
      () => seen.length === 9,
      () => seen.join(),
    );
    abort.abort();
    await following;
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(lost).toContain(true);
    expect(lost.at(-1)).toBe(false);
  });

  it('from now on misses nothing when the connection is lost before the first event', async () => {
    server.record(eventOf(approval, 'ApprovalRequested', 1));
    const seen: number[] = [];
    const following = (async () => {
      for await (const event of followEvents(clientOf(), { after: 'now', signal: abort.signal }))
        seen.push(event.position);
    })();
    await until(() => server.requests.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    server.dropStreams();
    server.record(eventOf(approval, 'ApprovalRequested', 2));
    await until(() => seen.length === 1);
    abort.abort();
    await following;
    expect(seen).toEqual([2]);
  });

  it('ends with the refusal when the token is no longer good', async () => {
    const following = (async () => {
      for await (const _event of followEvents(clientOf(), { after: 0, signal: abort.signal })) {
        server.intercept = () => problem(401, 'unauthenticated', 'who are you?');
        server.dropStreams();
      }
    })();
    server.record(eventOf(approval, 'ApprovalRequested', 1));
    await expect(following).rejects.toMatchObject({ exitCode: 4 });
  });

  it('does not start without a server', async () => {
    const events = followEvents(clientOf(`http://127.0.0.1:${String(await freePort())}`), {
      after: 0,
      signal: abort.signal,
    });
    await expect(events.next()).rejects.toMatchObject({ exitCode: 3 });
  });
});
