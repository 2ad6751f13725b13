import { request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApprovalView } from '@countersign/contracts';
import { createSessions } from '../inbox/sessions.js';
import { createSessionStore } from '../sqlite/session-store.js';
import { createApi } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

const desk = 'https://desk.example.com';
let world: World;
let closed: World;
beforeAll(async () => {
  world = await openWorld({
    corsOrigins: [desk, 'http://localhost:5173'],
    change: (ports) => ({ ...ports, sessions: createSessions({ ...ports, store: createSessionStore(':memory:') }) }),
  });
  closed = await openWorld();
});
afterAll(() => Promise.all([world.close(), closed.close()]));

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** As a browser would: fetch of Node does not send every header. */
function ask(
  at: World,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(`${at.url}${path}`, { method, headers }, (response) => {
      const { statusCode: status = 0, headers: answered } = response;
      if (answered['content-type']?.startsWith('text/event-stream')) {
        response.destroy();
        resolve({ status, headers: answered, text: '' });
      }
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => {
        resolve({ status, headers: answered, text });
      });
    });
    sent.on('error', reject).end(body);
  });
}

const preflight = (at: World, path: string, origin: string | undefined, more: Readonly<Record<string, string>> = {}) =>
  ask(at, 'OPTIONS', path, {
    ...(origin !== undefined && { origin }),
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,idempotency-key',
    ...more,
  });

const corsOf = ({ headers }: Answer) => Object.keys(headers).filter((name) => name.startsWith('access-control-'));
const listOf = (header: string | undefined) => (header ?? '').split(', ');

describe('a preflight of an origin that is served', () => {
  it('is answered without a token, with the methods of the path and the headers of the API', async () => {
    for (const origin of [desk, 'http://localhost:5173']) {
      const answer = await preflight(world, '/v1/approvals/apr_1/responses?a=b', origin);
      expect([answer.status, answer.text]).toEqual([204, '']);
      expect(answer.headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'POST',
        'access-control-max-age': '600',
        vary: 'Origin',
      });
      expect(listOf(answer.headers['access-control-allow-headers'])).toEqual(
        expect.arrayContaining([
          ...[
            'Authorization',
            'Content-Type',
            'Idempotency-Key',
            'Countersign-Position',
            'Last-Event-ID',
            'Request-Id',
          ],
        ]),
      );
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
      expect(answer.headers.connection).not.toBe('close');
    }
    expect((await preflight(world, '/v1/grants', desk)).headers['access-control-allow-methods']).toBe(
      'GET, HEAD, POST',
    );
  });

  it('is refused for a path that does not exist, so that the page cannot send its request', async () => {
    for (const path of ['/v1/none', '/session', '/metrics', '/', '/assets/none.js']) {
      expect([path, (await preflight(world, path, desk)).status]).not.toEqual([path, 204]);
    }
  });
});

describe('an origin that is not served', () => {
  it.each([
    ['another host', 'https://evil.example'],
    ['the same host over http', 'http://desk.example.com'],
    ['another port', 'https://desk.example.com:8443'],
    ['a host below it', 'https://a.desk.example.com'],
    ['a host that begins like it', 'https://desk.example.com.evil.example'],
    ['a file or a sandboxed frame', 'null'],
    ['no origin', undefined],
  ])('gets no header that lets a page read, and its preflight is refused: %s', async (_, origin) => {
    const asked = await preflight(world, '/v1/approvals', origin);
    const read = await ask(world, 'GET', '/v1/approvals', {
      ...(origin !== undefined && { origin }),
      authorization: 'Bearer ann-token',
    });
    expect([asked.status, corsOf(asked), asked.headers.vary]).toEqual([405, [], 'Origin']);
    expect([read.status, corsOf(read), read.headers.vary]).toEqual([200, [], 'Origin']);
  });

  it('is every origin by default, and answers do not vary', async () => {
    const asked = await preflight(closed, '/v1/approvals', desk);
    const read = await ask(closed, 'GET', '/v1/approvals', { origin: desk, authorization: 'Bearer ann-token' });
    expect([asked.status, corsOf(asked), asked.headers.vary]).toEqual([405, [], undefined]);
    expect([read.status, corsOf(read), read.headers.vary]).toEqual([200, [], undefined]);
    expect((await ask(closed, 'GET', '/v1/%zz', { origin: desk })).status).toBe(400);
  });
});

describe('an answer to a page of an origin that is served', () => {
  const ann = { authorization: 'Bearer ann-token' };

  it.each([
    ['an answer', 'GET', '/v1/approvals', ann, 200],
    ['its headers alone', 'HEAD', '/v1/approvals', ann, 200],
    ['a stream of events', 'GET', '/v1/events', ann, 200],
    ['an export', 'GET', '/v1/audit/events', { authorization: 'Bearer auditor-token' }, 200],
    ['no token', 'GET', '/v1/approvals', {}, 401],
    ['no role', 'GET', '/v1/audit/events', ann, 403],
    ['no such thing', 'GET', '/v1/approvals/apr_none', ann, 404],
    ['no such path', 'GET', '/v1/none', ann, 404],
    ['no such method', 'PUT', '/v1/approvals', ann, 405],
    ['a path that cannot be read', 'GET', '/v1/%zz', ann, 400],
    ['a position of the future', 'GET', '/v1/approvals', { ...ann, 'countersign-position': '99999' }, 409],
    ['the document', 'GET', '/openapi.json', {}, 200],
    ['a problem', 'GET', '/problems/expired', {}, 200],
  ] as const)('can be read by the page, with its headers: %s', async (_, method, path, headers, status) => {
    const answer = await ask(world, method, path, { origin: desk, ...headers });
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({ 'access-control-allow-origin': desk, vary: 'Origin' });
    expect(listOf(answer.headers['access-control-expose-headers'])).toEqual(
      expect.arrayContaining([
        ...[
          'Countersign-Log',
          'Countersign-Log-Missing',
          'Countersign-Position',
          'ETag',
          'Idempotent-Replayed',
          'Link',
          'Location',
          'RateLimit',
        ],
        ...['RateLimit-Policy', 'Request-Id', 'Retry-After'],
      ]),
    );
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
  });

  it('cannot be read from the pages of this server, its sign-in and its metrics', async () => {
    for (const path of ['/', '/session', '/metrics', '/assets/none.js', '/v10/x', '/healthz/x']) {
      expect([path, corsOf(await ask(world, 'GET', path, { origin: desk }))]).toEqual([path, []]);
    }
  });

  it('is a refusal if it comes with the session of the inbox in place of a token', async () => {
    const signedIn = await ask(
      world,
      'POST',
      '/session',
      { 'content-type': 'application/json' },
      JSON.stringify({ token: 'ann-token' }),
    );
    const [cookie = ''] = (signedIn.headers['set-cookie']?.[0] ?? '').split(';');
    const { approvalId } = await createApi(world).pending();
    const page = { cookie, origin: desk, 'sec-fetch-site': 'cross-site', 'countersign-client': 'inbox' };
    const decide = () =>
      ask(
        world,
        'POST',
        `/v1/approvals/${approvalId}/responses`,
        { ...page, 'content-type': 'application/json' },
        JSON.stringify({ decision: { type: 'approve' } }),
      );
    expect((await ask(world, 'GET', '/v1/approvals', { cookie })).status).toBe(200);
    expect((await ask(world, 'GET', '/v1/approvals', page)).status).toBe(403);
    expect((await decide()).status).toBe(403);
    const { body } = await createApi(world).send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' });
    expect(body).toMatchObject({ state: 'pending', responses: [] });
  });
});
