import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { edgeCodes, refusalCodes } from '@countersign/contracts';
import { EventStoreUnavailableError } from '@countersign/event-store';
import { statusOf } from '@countersign/shell';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld();
  api = createApi(world);
});
afterAll(() => world.close());

type Problem = { readonly type: string; readonly instance: string; readonly code: string };

describe('every answer', () => {
  it.each([
    ['GET', '/v1/me', 'ann', 200],
    ['GET', '/v1/me', null, 401],
    ['GET', '/v1/policy', 'agent', 403],
    ['GET', '/v1/none', 'ann', 404],
    ['GET', '/v1/approvals/apr_none', 'ann', 404],
    ['PUT', '/v1/approvals', 'ann', 405],
    ['GET', '/healthz', null, 200],
    ['GET', '/metrics', null, 200],
    ['GET', '/problems/none', null, 404],
    ['GET', '/v1/%zz', 'ann', 400],
    ['GET', '/openapi.json', null, 200],
    ['HEAD', '/v1/events', 'ann', 200],
    ['GET', '/v1/audit/events?limit=1', 'auditor', 200],
    ['POST', '/v1/tool-calls', 'agent', 400],
  ] as const)(
    'has the id of its request, and says how many are left: %s %s as %s',
    async (method, path, as, status) => {
      const given = { 'request-id': 'my-request/1' };
      const first = await api.send<Problem>(method, path, { as, headers: given });
      expect([first.status, first.headers.get('request-id')]).toEqual([status, 'my-request/1']);
      if (status >= 400)
        expect(first.body).toMatchObject({ instance: 'my-request/1', type: `/problems/${first.body.code}` });
      const { headers } = first;
      expect(headers.get('ratelimit')).toMatch(/^"(principal|address)";r=\d+;t=1$/);
      expect(headers.get('ratelimit-policy')).toMatch(/^"(principal|address)";q=\d+;w=1$/);
      const own = await api.send(method, path, { as, headers: { 'request-id': 'not sensible' } });
      expect(own.headers.get('request-id')).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  it('to a principal says how many requests are left', async () => {
    const { headers } = await api.send('GET', '/v1/me', { as: 'bob' });
    expect(headers.get('ratelimit-policy')).toBe('"principal";q=5000;w=1');
    expect(headers.get('ratelimit')).toMatch(/^"principal";r=\d+;t=1$/);
  });
});

describe('every line that is logged for a request', () => {
  it.each([
    ['no valid token', 'GET', '/v1/me', 'stolen', 'refused: not authenticated'],
    ['no role', 'GET', '/v1/policy', 'agent', 'refused: role missing'],
    ['a refusal', 'POST', '/v1/tool-calls/tc_none/cancel', 'agent', undefined],
  ] as const)('has its id: %s', async (_, method, path, as, message) => {
    const before = world.log.entries.length;
    const id = `logged/${path}`;
    await api.send(method, path, {
      as,
      headers: { 'request-id': id },
      ...(method === 'POST' && { body: { reason: 'r' } }),
    });
    const lines = world.log.entries.slice(before);
    if (message !== undefined) expect(lines.map((line) => line.message)).toContain(message);
    expect(lines.filter(({ fields }) => fields['requestId'] !== id)).toEqual([]);
  });

  it('has it after the body was read, in what the command logs', async () => {
    const failing = await openWorld({
      over: (store) => ({ ...store, append: () => Promise.reject(new EventStoreUnavailableError('away')) }),
    });
    const calls = [{ toolCallId: 'c', toolName: 't', arguments: {} }];
    const sent = { body: { runId: 'r', calls }, headers: { 'request-id': 'failing' } };
    const { status } = await createApi(failing).send('POST', '/v1/tool-calls', sent);
    const line = failing.log.entries.find(({ message }) => message === 'the event store could not be written');
    expect([status, line?.fields['requestId']]).toEqual([503, 'failing']);
    await failing.close();
  });
});

describe('the answer to a creation', () => {
  it('has the address of what was created, which opens', async () => {
    const call = (id: string) => ({ toolCallId: id, toolName: 't', arguments: {} });
    const ask = (runId: string, ...ids: string[]) =>
      api.send('POST', '/v1/tool-calls', { body: { runId, calls: ids.map(call) } });
    const one = await ask('created/1', 'a');
    const two = await ask('created/2', 'a', 'b');
    const approval = await api.send('POST', `${one.headers.get('location') ?? ''}/approvals`);
    for (const { status, headers } of [one, two, approval]) {
      expect(status).toBe(201);
      expect((await api.send('GET', headers.get('location') ?? '', { as: 'ann' })).status).toBe(200);
    }
    expect((await ask('created/1', 'a')).headers.get('location')).toBeNull();
  });
});

describe('the type of a problem', () => {
  it.each([...refusalCodes, ...edgeCodes])('opens, and names cause and remedy: %s', async (code) => {
    const page = await api.send('GET', `/problems/${code}`, { as: null });
    expect(page).toMatchObject({ status: 200, body: { code, status: statusOf(code) } });
    for (const text of [page.body['cause'], page.body['remedy']]) expect(text).toMatch(/^[A-Z`].*[.]$/);
  });

  it('of no code is 404', async () => {
    expect((await api.send('GET', '/problems/toString', { as: null })).status).toBe(404);
  });
});
