import { describe, expect, it } from '@jest/globals';
import { createClient } from './client.js';
import type { Clock } from '@countersign/contracts/clock';
import { openEncodedServer } from '@countersign/http-client/testing';
import { CountersignError, errorOfAnswer, isRefusal, messageOf } from '../errors.js';
import { createPageGuard, retryAfterMs } from '@countersign/http-client';
import { createTransport } from './transport.js';
import { createWorker } from '../worker.js';

const urlOf = (input: Parameters<typeof fetch>[0]): string => (input instanceof Request ? input.url : input.toString());

interface Seen {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: unknown;
}

/** A fetch that returns the responses in order, then the last one always. */
function fetchOf(...answers: readonly (Response | Error)[]): { readonly fetch: typeof fetch; readonly seen: Seen[] } {
  const seen: Seen[] = [];
  return {
    seen,
    fetch: async (url, init) => {
      seen.push({
        url: urlOf(url),
        method: init?.method ?? '',
        headers: new Headers(init?.headers),
        body: init?.body,
      });
      const answer = answers[Math.min(seen.length, answers.length) - 1];
      if (answer instanceof Response) return answer.clone();
      throw answer ?? new Error('no answer planned');
    },
  };
}

/** Timers fire at once; their delays are recorded. */
function instantClock(): Clock & { readonly waitedMs: number[] } {
  const waitedMs: number[] = [];
  return {
    waitedMs,
    now: () => 0,
    monotonic: () => 0,
    setTimer: (delayMs, fn) => {
      if (delayMs >= 30_000) return () => undefined;
      waitedMs.push(delayMs);
      const timer = setTimeout(fn, 0);
      return () => clearTimeout(timer);
    },
  };
}

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers });
const problem = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  json(status, { type: 'about:blank', title: code, status, code, detail: 'because' }, headers);
const broken = new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') });

function send(fake: { readonly fetch: typeof fetch }, more: object = {}) {
  const clock = instantClock();
  const transport = createTransport({ url: 'http://x.test/base/', fetch: fake.fetch, clock, random: () => 1 });
  const answer = transport.send({ method: 'POST', path: '/v1/y', token: 'secret', body: { a: 1 }, ...more });
  return { answer, clock };
}

describe('a request', () => {
  it('is repeated under one idempotency key while the server is away, answers 5xx or is busy', async () => {
    const fake = fetchOf(
      broken,
      problem(503, 'unavailable'),
      problem(429, 'too-many-requests'),
      json(200, { ok: true }),
    );
    const { answer, clock } = send(fake);
    expect(await answer).toEqual({ ok: true });
    const keys = new Set(fake.seen.map(({ headers }) => headers.get('idempotency-key')));
    expect(keys.size).toBe(1);
    expect([...keys][0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(clock.waitedMs).toEqual([200, 400, 800]);
    expect(fake.seen[0]).toMatchObject({ url: 'http://x.test/base/v1/y', method: 'POST', body: '{"a":1}' });
    expect(fake.seen[0]?.headers.get('authorization')).toBe('Bearer secret');
  });

  it('waits as long as Retry-After says', async () => {
    const fake = fetchOf(problem(503, 'unavailable', { 'retry-after': '7' }), json(200, {}));
    const { answer, clock } = send(fake);
    await answer;
    expect(clock.waitedMs).toEqual([7000]);
  });

  it('is not repeated at once when Retry-After names no wait', async () => {
    const busy = problem(503, 'unavailable', { 'retry-after': '0' });
    const { answer, clock } = send(fetchOf(busy, busy, json(200, {})));
    await answer;
    expect(clock.waitedMs).toEqual([200, 400]);
  });

  it('is not repeated after a refusal', async () => {
    const fake = fetchOf(problem(409, 'tool-call-mismatch'));
    const error = await send(fake).answer.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CountersignError);
    expect(error).toMatchObject({ code: 'tool-call-mismatch', status: 409, problem: { detail: 'because' } });
    expect(fake.seen).toHaveLength(1);
  });

  it('gives up after its attempts, with the last reason', async () => {
    const fake = fetchOf(broken);
    await expect(send(fake, { attempts: 3 }).answer).rejects.toMatchObject({
      code: 'unreachable',
      status: null,
      message: expect.stringContaining('ECONNREFUSED'),
    });
    expect(fake.seen).toHaveLength(3);
    await expect(send(fetchOf(problem(500, 'internal-error')), { attempts: 2 }).answer).rejects.toMatchObject({
      status: 500,
    });
  });

  it('stops with the reason of its signal', async () => {
    const controller = new AbortController();
    const { answer } = send(fetchOf(broken), { attempts: Infinity, signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(answer).rejects.toThrow('enough');
  });

  it('does not accept the answer of another server as one of Countersign', async () => {
    const page = new Response('<html>', { status: 200 });
    await expect(send(fetchOf(page)).answer).rejects.toMatchObject({ code: 'unreadable-response' });
    const client = createClient({
      url: 'http://x.test',
      token: 't',
      fetch: fetchOf(json(200, { hello: 'world' })).fetch,
    });
    await expect(client.getToolCall('tc_1')).rejects.toMatchObject({ code: 'unreadable-response' });
    const moved = new Response(null, { status: 302, headers: { location: 'http://evil.test/' } });
    await expect(send(fetchOf(moved)).answer).rejects.toMatchObject({ code: 'http-302' });
  });

  it('does not read a compressed answer, and does not ask again', async () => {
    const server = await openEncodedServer();
    server.answerWith(['br'], '{}');
    const client = createClient({ url: server.url, token: 't' });
    const refused = { code: 'unreadable-response', message: expect.stringContaining('content-encoding: br') };
    await expect(client.getToolCall('tc_1')).rejects.toMatchObject(refused);
    await expect(client.events().next()).rejects.toMatchObject(refused);
    expect(server.received).toHaveLength(2);
    await server.close();
  });

  it('reads its own writes: the last position goes with every later read', async () => {
    const fake = fetchOf(
      json(200, {}, { 'countersign-position': '12' }),
      json(200, {}, { 'countersign-position': '9' }),
      json(200, {}),
    );
    const transport = createTransport({ url: 'http://x.test', fetch: fake.fetch });
    for (const method of ['POST', 'POST', 'GET'] as const) await transport.send({ method, path: '/', token: 't' });
    expect(fake.seen.map(({ headers }) => headers.get('countersign-position'))).toEqual([null, null, '12']);
  });

  it('forgets the position of its own writes when the log does not reach it, as after a restore', async () => {
    const behind = problem(503, 'unavailable');
    const written = json(200, {}, { 'countersign-position': '12' });
    const fake = fetchOf(written, behind, behind, behind, json(200, {}), json(200, {}));
    const transport = createTransport({ url: 'http://x.test', fetch: fake.fetch, clock: instantClock() });
    const send = (method: 'POST' | 'GET') => transport.send({ method, path: '/', token: 't', attempts: 2 });
    await send('POST');
    await expect(send('GET')).rejects.toMatchObject({ code: 'unavailable' });
    for (let reads = 0; reads < 2; reads += 1) await send('GET');
    const positions = fake.seen.map(({ headers }) => headers.get('countersign-position'));
    expect(positions).toEqual([null, '12', '12', '12', null, null]);
  });

  it('reads what it heard of elsewhere, and forgets a position that the server does not know', async () => {
    const fake = fetchOf(json(200, {}, { 'countersign-position': '12' }), problem(503, 'unavailable'), json(200, {}));
    const transport = createTransport({ url: 'http://x.test', fetch: fake.fetch, clock: instantClock() });
    await transport.send({ method: 'POST', path: '/', token: 't' });
    transport.noticePosition('9000');
    await transport.send({ method: 'GET', path: '/', token: 't' });
    await transport.send({ method: 'GET', path: '/', token: 't' });
    const positions = fake.seen.map(({ headers }) => headers.get('countersign-position'));
    expect(positions).toEqual([null, '9000', '12', '12']);
  });

  it('reads again without a position that the log has not given out: a forged one, or its own after a restore', async () => {
    const future = problem(409, 'future-position');
    const written = json(200, {}, { 'countersign-position': '12' });
    const fake = fetchOf(written, future, json(200, {}), future, json(200, {}), json(200, {}));
    const transport = createTransport({ url: 'http://x.test', fetch: fake.fetch, clock: instantClock() });
    const send = (method: 'POST' | 'GET') => transport.send({ method, path: '/', token: 't' });
    await send('POST');
    transport.noticePosition('9000');
    for (let reads = 0; reads < 3; reads += 1) await send('GET');
    const positions = fake.seen.map(({ headers }) => headers.get('countersign-position'));
    expect(positions).toEqual([null, '9000', '12', '12', null, null]);
  });

  it('forgets a heard position after one read that does not confirm it, also when that read was given up', async () => {
    const given: (string | null)[] = [];
    const hung: typeof fetch = (_, init) => {
      given.push(new Headers(init?.headers).get('countersign-position'));
      return new Promise((_resolve, reject) =>
        init?.signal?.addEventListener('abort', () => reject(new Error('aborted'))),
      );
    };
    const away = createTransport({ url: 'http://x.test', fetch: hung, clock: instantClock() });
    away.noticePosition('900');
    for (let reads = 0; reads < 2; reads += 1) {
      const controller = new AbortController();
      const read = away.send({ method: 'GET', path: '/', token: 't', signal: controller.signal });
      controller.abort(new Error('enough'));
      await expect(read).rejects.toThrow('enough');
    }
    const busy = fetchOf(problem(503, 'unavailable'), json(200, {}));
    const transport = createTransport({ url: 'http://x.test', fetch: busy.fetch, clock: instantClock() });
    transport.noticePosition('900');
    const once = { method: 'GET', path: '/', token: 't', attempts: 1 } as const;
    await expect(transport.send(once)).rejects.toMatchObject({ code: 'unavailable' });
    await transport.send(once);
    const positions = busy.seen.map(({ headers }) => headers.get('countersign-position'));
    expect([given, positions]).toEqual([
      ['900', null],
      ['900', null],
    ]);
  });

  it('keeps a heard position that a read has confirmed', async () => {
    const fake = fetchOf(json(200, {}), json(200, {}), json(200, {}));
    const transport = createTransport({ url: 'http://x.test', fetch: fake.fetch });
    transport.noticePosition('900');
    await transport.send({ method: 'POST', path: '/', token: 't' });
    for (let reads = 0; reads < 2; reads += 1) await transport.send({ method: 'GET', path: '/', token: 't' });
    expect(fake.seen.map(({ headers }) => headers.get('countersign-position'))).toEqual([null, '900', '900']);
  });

  it('needs a URL that is one', () => {
    expect(() => createTransport({ url: 'localhost 7400' })).toThrow('Invalid URL');
  });
});

describe('the client', () => {
  it('keeps ids and filters apart from paths', async () => {
    const fake = fetchOf(json(200, { approvals: [], nextCursor: null }));
    const client = createClient({ url: 'http://x.test', token: 't', fetch: fake.fetch, clientName: 'cli' });
    await client.listApprovals({ state: 'pending', runId: 'a/b c', limit: 5 });
    await client.cancelRun('a/b?c', 'over');
    expect(fake.seen.map(({ url }) => url)).toEqual([
      'http://x.test/v1/approvals?state=pending&runId=a%2Fb+c&limit=5',
      'http://x.test/v1/runs/a%2Fb%3Fc/cancel',
    ]);
    expect(fake.seen[0]?.headers.get('countersign-client')).toBe('cli');
  });
});

describe('a list that is read page by page', () => {
  const names = { runId: 'r', agentId: 'a', toolCallId: 't', toolName: 'pay', actionDigest: 'sha256:0' };
  const callAt = (id: number) => ({
    ...names,
    ...{ callId: `tc_${String(id)}`, state: 'allowed', arguments: {}, approval: null, revision: 1 },
  });
  const page = (nextCursor: string | null, ...ids: readonly number[]) =>
    json(200, { calls: ids.map(callAt), nextCursor });
  const read = async (...pages: readonly Response[]): Promise<readonly string[]> => {
    const client = createClient({ url: 'http://x.test', token: 't', fetch: fetchOf(...pages).fetch });
    const ids: string[] = [];
    for await (const { callId } of client.eachToolCall()) ids.push(callId);
    return ids;
  };

  it('ends with the last page', async () => {
    expect(await read(page('a', 1, 2), page('b'), page(null, 3))).toEqual(['tc_1', 'tc_2', 'tc_3']);
  });

  it.each<[string, readonly Response[]]>([
    ['its cursor', [page('a', 1), page('a', 2)]],
    ['an earlier cursor', [page('a', 1), page('b', 2), page('a', 3)]],
    ['a page under new cursors', [page('a', 1), page('b', 2), page('c', 1)]],
  ])('ends with an error when the server repeats %s', async (_, pages) => {
    await expect(read(...pages)).rejects.toMatchObject({
      code: 'unreadable-response',
      message: expect.stringMatching(/^the server repeats .* tool calls/),
    });
  });

  it('ends with an error when the server sends empty pages without end', () => {
    const next = createPageGuard('grants');
    for (let n = 1; n <= 1000; n += 1) expect(next({ nextCursor: String(n), size: 0 })).toBe(String(n));
    expect(() => next({ nextCursor: '1001', size: 0 })).toThrow('1000 empty pages of grants');
  });
});

describe('Retry-After', () => {
  it('is read as seconds or as a date', () => {
    const now = Date.parse('2030-01-01T00:00:00Z');
    expect(retryAfterMs('3', now, 60_000)).toBe(3000);
    expect(retryAfterMs('Tue, 01 Jan 2030 00:00:05 GMT', now, 60_000)).toBe(5000);
    expect(retryAfterMs('Mon, 31 Dec 2029 00:00:05 GMT', now, 60_000)).toBe(0);
    expect(retryAfterMs('9999', now, 60_000)).toBe(60_000);
    expect([retryAfterMs(null, now, 1), retryAfterMs('soon', now, 1)]).toEqual([undefined, undefined]);
  });
});

describe('errors', () => {
  it('have a code even when the answer has none', () => {
    expect(errorOfAnswer(502, '<html>')).toMatchObject({ code: 'http-502', status: 502, problem: null });
    expect(isRefusal(errorOfAnswer(502, null), 'http-502')).toBe(true);
    expect(isRefusal(new Error('http-502'), 'http-502')).toBe(false);
  });

  it.each([301, 404])('ask whether the URL is right for an answer of another server: %i', (status) => {
    expect(errorOfAnswer(status, '<html>')).toMatchObject({
      code: `http-${status}`,
      message: `an answer with status ${status} that is not Countersign's: is the URL right?`,
    });
  });

  it.each([429, 503])('do not ask about the URL when a proxy may have answered: %i', (status) => {
    expect(errorOfAnswer(status, '<html>').message).toBe(`Countersign answered ${status}`);
  });

  it('describe any thrown value', () => {
    expect([messageOf(new RangeError()), messageOf('text'), messageOf(7)]).toEqual([
      'RangeError',
      'text',
      'thrown number',
    ]);
  });
});

it.each(['secret\nx', 'se cret', 'sécret'])('a token that no header can have is refused at once: %j', (token) => {
  const refused = (field: string) => new RegExp(`^${field}: a token has no spaces.*Copy it again.$`);
  expect(() => createClient({ url: 'http://x.test', token })).toThrow(refused('token'));
  const worker = { url: 'http://x.test', agentId: 'a', tools: [] };
  expect(() => createWorker({ ...worker, token: 't', resolverToken: token })).toThrow(refused('resolverToken'));
  expect(() => createWorker({ ...worker, token: 't', resolverToken: ' t\n' })).not.toThrow();
});
