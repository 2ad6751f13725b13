import { describe, expect, it } from '@jest/globals';
import { approvalsHandler } from './approvals-handler.js';
import { createFrontEnd } from './front-end.js';

const site = 'https://desk.example';
const kim = { id: 'kim@example.com', groups: ['support'] };

function mounted(answer: () => Response | Promise<Response> = () => Response.json({ approvals: [] })) {
  const sent: Request[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    sent.push(request);
    return answer();
  };
  const frontEnd = createFrontEnd({ url: 'http://countersign.test/', token: 'secret', fetch });
  const person = (request: Request) => (request.headers.get('cookie') === 'session=kim' ? kim : null);
  const handler = approvalsHandler({ frontEnd, person });
  const ask = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
    handler(
      new Request(`${site}/api/approvals${path}`, {
        method,
        headers: { cookie: 'session=kim', ...headers },
        ...(body !== undefined && { body }),
      }),
    );
  return { ask, sent };
}

const ours = { origin: site, 'content-type': 'application/json' };
const decision = JSON.stringify({ decision: { type: 'approve' } });

describe('the handler of the browser’s requests', () => {
  it('sends them in the name of the signed-in person, with the token of the front end', async () => {
    const { ask, sent } = mounted();
    const answer = await ask('GET', '/v1/approvals?runId=run-1&mine=true&values=clear');
    expect([answer.status, await answer.json()]).toEqual([200, { approvals: [] }]);
    const [request] = sent;
    expect(request?.url).toBe('http://countersign.test/v1/approvals?runId=run-1&mine=true');
    expect(Object.fromEntries(request?.headers ?? [])).toEqual({
      authorization: 'Bearer secret',
      'countersign-person': 'kim%40example.com',
      'countersign-person-groups': 'support',
    });
  });

  it('takes no person, no token and no cookie from the browser', async () => {
    const { ask, sent } = mounted();
    const named = { 'countersign-person': 'boss', 'countersign-person-groups': 'ops', authorization: 'Bearer other' };
    await ask('POST', '/v1/approvals/apr_1/responses', { ...ours, ...named, 'idempotency-key': 'k' }, decision);
    expect(Object.fromEntries(sent[0]?.headers ?? [])).toEqual({
      authorization: 'Bearer secret',
      'content-type': 'application/json',
      'countersign-person': 'kim%40example.com',
      'countersign-person-groups': 'support',
    });
    await expect(sent[0]?.text()).resolves.toBe(decision);
  });

  it.each([
    ['nobody', undefined, 401],
    ['a person without an id', { id: undefined }, 500],
    ['a person with an empty id', { id: '' }, 500],
  ])('sends nothing where the application names %s', async (_, who, status) => {
    const fetch = (): Promise<Response> => Promise.reject(new Error('something was sent'));
    const frontEnd = createFrontEnd({ url: 'http://countersign.test/', token: 'secret', fetch });
    // As code without types does it.
    const handler = approvalsHandler({ frontEnd, person: () => who as { id: string } });
    expect((await handler(new Request(`${site}/v1/me`))).status).toBe(status);
  });

  it('speaks for no person without an id, who would be named "undefined"', () => {
    const { as, end } = createFrontEnd({ url: 'http://countersign.test/', token: 'secret' });
    const id = undefined as unknown as string;
    expect(() => as({ id })).toThrow(TypeError);
    return expect(end(id)).rejects.toThrow(TypeError);
  });

  it.each([
    ['a page of another site', { ...ours, origin: 'https://evil.example' }],
    ['a page of a sub-domain', { ...ours, origin: 'https://blog.desk.example' }],
    ['a page in a sandbox', { ...ours, origin: 'null' }],
    ['another scheme', { ...ours, origin: 'http://desk.example' }],
    ['a request that names no origin', { 'content-type': 'application/json' }],
    ['a page of the same site', { 'content-type': 'application/json', 'sec-fetch-site': 'same-site' }],
  ])('refuses a decision of %s', async (_, headers) => {
    const { ask, sent } = mounted();
    expect((await ask('POST', '/v1/approvals/apr_1/responses', headers, decision)).status).toBe(403);
    expect((await ask('DELETE', '/v1/approvals/apr_1/responses/mine', headers)).status).toBe(403);
    expect(sent).toEqual([]);
  });

  it('takes the word of the browser where a proxy has changed the scheme', async () => {
    const { ask, sent } = mounted();
    const headers = { ...ours, origin: 'http://desk.example', 'sec-fetch-site': 'same-origin' };
    expect((await ask('POST', '/v1/approvals/apr_1/responses', headers, decision)).status).toBe(200);
    expect(sent).toHaveLength(1);
  });

  it('refuses to be read by a page of another site', async () => {
    const { ask, sent } = mounted();
    expect((await ask('GET', '/v1/approvals', { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await ask('GET', '/v1/approvals', { origin: 'https://evil.example' })).status).toBe(403);
    expect(sent).toEqual([]);
  });

  it.each([
    ['POST', '/v1/tool-calls'],
    ['POST', '/v1/approvals/responses'],
    ['POST', '/v1/grants'],
    ['DELETE', '/v1/people/support-desk%23kim'],
    ['GET', '/v1/events'],
    ['GET', '/v1/audit/events'],
    ['GET', '/v1/approvals/..%2Faudit'],
    ['GET', '/v1/approvals/apr_1/v1/me'],
    ['PUT', '/v1/approvals/apr_1'],
    ['GET', '/metrics'],
  ])('does not serve %s %s', async (method, path) => {
    const { ask, sent } = mounted();
    expect((await ask(method, path, ours)).status).toBe(404);
    expect(sent).toEqual([]);
  });

  it('refuses a form, and a body without an end', async () => {
    const { ask, sent } = mounted();
    const form = { ...ours, 'content-type': 'text/plain' };
    expect((await ask('POST', '/v1/approvals/apr_1/responses', form, decision)).status).toBe(415);
    const large = JSON.stringify({ reason: 'x'.repeat(1024 * 1024) });
    expect((await ask('POST', '/v1/approvals/apr_1/responses', ours, large)).status).toBe(415);
    expect(sent).toEqual([]);
  });

  it('asks people to sign in at the application', async () => {
    const { ask, sent } = mounted();
    const answer = await ask('GET', '/v1/approvals', { cookie: '' });
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([401, 'unauthenticated']);
    expect(sent).toEqual([]);
  });

  it('passes a refusal on, without the headers of the server, and lets nothing be cached', async () => {
    const problem = { code: 'digest-mismatch', status: 409 };
    const headers = {
      'set-cookie': 'a=b',
      'access-control-allow-origin': '*',
      'cache-control': 'public',
      'retry-after': '2',
    };
    const { ask } = mounted(() => Response.json(problem, { status: 409, headers }));
    const answer = await ask('POST', '/v1/approvals/apr_1/responses', ours, decision);
    expect([answer.status, await answer.json()]).toEqual([409, problem]);
    expect(Object.fromEntries(answer.headers)).toEqual({
      'cache-control': 'no-store',
      'content-type': 'application/json',
      'retry-after': '2',
      'x-content-type-options': 'nosniff',
    });
  });

  it('does not tell the person to sign in where the token of the application is refused', async () => {
    const { ask } = mounted(() => Response.json({ code: 'unauthenticated' }, { status: 401 }));
    expect((await ask('GET', '/v1/approvals')).status).toBe(502);
  });

  it('says that Countersign did not respond', async () => {
    const { ask } = mounted(() => Promise.reject(new TypeError('fetch failed')));
    const answer = await ask('GET', '/v1/me');
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([502, 'unreachable']);
  });
});
