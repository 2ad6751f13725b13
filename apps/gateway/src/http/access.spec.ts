import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { roles } from '@countersign/commands';
import type { ApprovalView } from '@countersign/contracts';
import { allRoutes } from '../routes.js';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
let approval: ApprovalView;
beforeAll(async () => {
  world = await openWorld();
  api = createApi(world);
  approval = await api.pending({ arguments: { path: '/etc/hosts', password: 'hunter2' } }, { runId: 'run-of-default' });
});
afterAll(() => world.close());

const others = { resolver: 'worker', auditor: 'auditor', admin: 'admin', stopper: 'stopper', tool: 'tool' } as const;
const people = { agent: 'agent', approver: 'ann', 'front-end': 'desk', ...others } as const;
/** The expected values from the contract, written out a second time. */
const allowed: Readonly<Record<string, readonly (keyof typeof people)[]>> = {
  'POST /v1/tool-calls': ['agent'],
  'GET /v1/tool-calls/:callId': ['agent', 'approver', 'resolver', 'auditor', 'admin', 'front-end'],
  'POST /v1/tool-calls/:callId/approvals': ['agent', 'admin'],
  'POST /v1/tool-calls/:callId/cancel': ['agent', 'admin'],
  'GET /v1/tool-calls': ['agent', 'approver', 'resolver', 'auditor', 'admin', 'front-end'],
  'GET /v1/runs': ['agent', 'approver', 'resolver', 'auditor', 'admin', 'front-end'],
  'GET /v1/runs/:runId': ['agent', 'approver', 'resolver', 'auditor', 'admin', 'front-end'],
  'POST /v1/runs/:runId/cancel': ['agent', 'admin'],
  'GET /v1/approvals': ['approver', 'auditor', 'admin', 'front-end'],
  'GET /v1/approvals/:approvalId': ['approver', 'auditor', 'admin', 'front-end'],
  'GET /v1/approvals/:approvalId/card': ['approver', 'front-end'],
  'POST /v1/approvals/:approvalId/responses': ['approver'],
  'POST /v1/approvals/:approvalId/reveal': ['approver'],
  'POST /v1/approvals/responses': ['approver'],
  'DELETE /v1/approvals/:approvalId/responses/mine': ['approver'],
  'GET /v1/grants': ['approver', 'auditor', 'admin'],
  'GET /v1/grants/:grantId': ['approver', 'auditor', 'admin'],
  'POST /v1/grants': ['approver'],
  'POST /v1/grants/preview': ['approver'],
  'POST /v1/grants/:grantId/confirm': ['approver'],
  'DELETE /v1/grants/:grantId': ['approver', 'admin'],
  'POST /v1/tool-calls/:callId/claim': ['resolver'],
  'POST /v1/tool-calls/:callId/claim/renew': ['resolver'],
  'POST /v1/tool-calls/:callId/outcome': ['resolver'],
  'POST /v1/tool-calls/:callId/output': ['agent', 'admin'],
  'POST /v1/tool-calls/:callId/reconcile': ['admin'],
  'POST /v1/receipts/introspect': ['resolver', 'tool'],
  'GET /v1/policy': ['approver', 'auditor', 'admin'],
  'GET /v1/policy/versions': ['approver', 'auditor', 'admin'],
  'GET /v1/policy/shadow': ['approver', 'auditor'],
  'GET /v1/policy/suggestions': ['approver', 'auditor'],
  'POST /v1/policy/explain': ['approver', 'auditor', 'admin'],
  'POST /v1/policy/backtest': ['auditor'],
  'GET /v1/oversight': ['approver', 'auditor', 'admin'],
  'POST /v1/subjects/erase': ['admin'],
  'GET /v1/stops': ['approver', 'auditor', 'admin', 'stopper'],
  'GET /v1/stops/:stopId': ['approver', 'auditor', 'admin', 'stopper'],
  'POST /v1/stops': ['admin', 'stopper'],
  'POST /v1/stops/:stopId/lift': ['admin'],
  'GET /v1/me': ['agent', 'approver', 'resolver', 'auditor', 'admin', 'stopper', 'front-end'],
  'DELETE /v1/people/:person': ['front-end', 'admin'],
  'GET /v1/me/passkeys': ['approver'],
  'POST /v1/me/passkeys': ['approver'],
  'POST /v1/me/passkeys/options': ['approver'],
  'GET /v1/me/passkeys/:credentialId': ['approver'],
  'DELETE /v1/me/passkeys/:credentialId': ['approver'],
  'GET /v1/passkeys': ['approver', 'auditor', 'admin'],
  'POST /v1/passkeys/:credentialId/confirm': ['approver'],
  'GET /v1/events': ['agent', 'approver', 'resolver', 'auditor', 'admin', 'front-end'],
  'GET /v1/audit/tool-calls/:callId/events': ['auditor'],
  'GET /v1/audit/tool-calls/:callId/proof': ['auditor'],
  'GET /v1/audit/events': ['auditor'],
  'GET /v1/audit/state': ['auditor'],
  'GET /v1/audit/erasures': ['auditor'],
  'GET /v1/unreadable': ['auditor', 'admin'],
  'GET /v1/log/checkpoint': ['auditor'],
  'POST /v1/log/checkpoint': ['auditor'],
  'POST /v1/log/continue': ['admin'],
  'GET /v1/log/vkey': ['auditor'],
  'GET /v1/log/key-changes': ['auditor'],
  'GET /v1/log/checkpoint/timestamp': ['auditor'],
  'GET /v1/log/timestamps': ['auditor'],
  'GET /v1/log/tile/*': ['auditor'],
  'GET /v1/log/~:tenant/checkpoint': ['auditor'],
  'GET /v1/log/~:tenant/key-changes': ['auditor'],
  'GET /v1/log/~:tenant/tile/*': ['auditor'],
};
const guarded = allRoutes.filter((route) => route.roles !== 'public');
const matrix = guarded.flatMap(({ method, path }) => roles.map((role) => [method, path, role] as const));

/** The path with ids of the tenant `default`. */
const filled = (path: string): string =>
  path
    .replace(':callId', approval.callId)
    .replace(':approvalId', approval.approvalId)
    .replace(':runId', approval.runId)
    .replace(':person', 'support-desk%23kim');
/** The body is invalid on purpose: an unauthorised request is refused before its body is read. */
const sendAs = (as: string | null, method: string, path: string, more: { readonly signal?: AbortSignal } = {}) => {
  const body = method === 'POST' ? { body: { nonsense: true } } : {};
  return api.send<{ code?: string }>(method, path, { as, ...body, ...more });
};
/** The status, for those who may: a stream does not end. */
const statusAs = async (as: string, method: string, path: string): Promise<number> => {
  const signal = AbortSignal.timeout(500);
  return sendAs(as, method, path, { signal }).then(
    ({ status }) => status,
    () => 200,
  );
};

describe('roles', () => {
  it('are written down for every route', () => {
    expect(Object.keys(allowed).sort()).toEqual(guarded.map(({ method, path }) => `${method} ${path}`).sort());
  });

  it.each(matrix)('%s %s as %s', async (method, path, role) => {
    const mayUse = allowed[`${method} ${path}`]?.includes(role) === true;
    if (mayUse) {
      expect(await statusAs(people[role], method, filled(path))).not.toBe(403);
      return;
    }
    const { status, body } = await sendAs(people[role], method, filled(path));
    expect([status, body.code]).toEqual([403, 'forbidden']);
  });

  it.each(guarded)('$method $path is forbidden without a role', async ({ method, path }) => {
    expect((await sendAs('nobody', method, filled(path))).status).toBe(403);
  });
});

describe('tokens', () => {
  it('tell their holder who it is', async () => {
    const { status, body } = await api.send('GET', '/v1/me', { as: 'ann' });
    expect([status, body]).toEqual([
      200,
      {
        ...{ principal: 'ann', tenant: 'default', roles: ['approver'], groups: expect.any(Array), agentIds: [] },
        ...{ credential: `token:${hash('sha256', 'ann-token').slice(0, 16)}`, expiresAt: null },
      },
    ]);
  });

  it.each(guarded)('$method $path needs one', async ({ method, path }) => {
    const { status, body } = await sendAs(null, method, filled(path));
    expect([status, body.code]).toEqual([401, 'unauthenticated']);
    expect((await sendAs('stolen', method, filled(path))).status).toBe(401);
  });

  it.each([
    ['no scheme', 'agent-token'],
    ['another scheme', 'Basic YWdlbnQ6dG9rZW4='],
    ['nothing after the scheme', 'Bearer '],
    ['two tokens', 'Bearer agent-token, ann-token'],
    ['an empty header', ''],
  ])('%s is none', async (_what, authorization) => {
    const { status, headers } = await api.send('GET', '/v1/runs/r', { as: null, headers: { authorization } });
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="countersign"']);
  });

  it('are asked for before the body is read', async () => {
    const { status } = await api.send('POST', '/v1/tool-calls', { as: null, raw: '{"broken' });
    expect(status).toBe(401);
  });

  it('are refused in the log by where they were sent, and never by themselves', async () => {
    const quiet = await openWorld();
    const { send } = createApi(quiet);
    await send('GET', '/v1/runs/r?x=stolen-token', { as: 'stolen' });
    await send('POST', '/v1/tool-calls', { as: 'ann' });
    await quiet.close();
    const { entries } = quiet.log;
    const [unauthenticated, forbidden] = entries.filter(({ level }) => level === 'warn');
    expect(unauthenticated).toMatchObject({ level: 'warn', fields: { path: '/v1/runs/r', why: 'unknown token' } });
    expect(forbidden).toMatchObject({ level: 'warn', fields: { principal: 'ann', route: 'requestToolCalls' } });
    expect(JSON.stringify(entries)).not.toContain('stolen-token');
  });

  it('with the scheme in another case are taken', async () => {
    const headers = { authorization: 'bearer agent-token' };
    expect((await api.send('GET', `/v1/runs/${approval.runId}`, { as: null, headers })).status).toBe(200);
  });
});

describe('another tenant', () => {
  const asOther = (method: string, path: string, body?: unknown) => api.send(method, path, { as: 'other', body });

  it.each([
    ['GET', '/v1/tool-calls/:callId', undefined],
    ['GET', '/v1/tool-calls/:callId?waitMs=1000&until=settled', undefined],
    ['POST', '/v1/tool-calls/:callId/approvals', {}],
    ['POST', '/v1/tool-calls/:callId/cancel', { reason: 'x' }],
    ['GET', '/v1/runs/:runId', undefined],
    ['POST', '/v1/runs/:runId/cancel', { reason: 'x' }],
    ['GET', '/v1/approvals/:approvalId', undefined],
    ['POST', '/v1/approvals/:approvalId/responses', { decision: { type: 'approve' } }],
    ['DELETE', '/v1/approvals/:approvalId/responses/mine', undefined],
    ['POST', '/v1/tool-calls/:callId/claim', { resolverId: 'w' }],
    ['POST', '/v1/tool-calls/:callId/claim/renew', { attempt: 1 }],
    ['POST', '/v1/tool-calls/:callId/outcome', { attempt: 1, status: 'failed', error: 'x' }],
    ['POST', '/v1/tool-calls/:callId/output', { status: 'failed', error: 'x' }],
    ['POST', '/v1/tool-calls/:callId/reconcile', { status: 'failed', note: 'x' }],
    ['GET', '/v1/audit/tool-calls/:callId/events', undefined],
  ])('%s %s finds nothing', async (method, path, body) => {
    const head = await world.store.head();
    const { status, body: answer } = await asOther(method, filled(path), body);
    expect(status).toBe(404);
    expect(JSON.stringify(answer)).not.toContain('hunter2');
    expect(await world.store.head()).toBe(head);
  });

  it('sees no approvals under any filter', async () => {
    for (const query of ['', `?runId=${approval.runId}`, '?state=pending&limit=1000']) {
      expect((await asOther('GET', `/v1/approvals${query}`)).body).toMatchObject({ approvals: [], nextCursor: null });
    }
  });

  it('gets a bulk answer that knows nothing', async () => {
    const body = { approvalIds: [approval.approvalId], decision: { type: 'approve' } };
    const { body: answer } = await asOther('POST', '/v1/approvals/responses', body);
    expect(answer).toMatchObject({ results: [{ status: 'rejected', problem: { code: 'unknown-approval' } }] });
    expect(JSON.stringify(answer)).not.toContain('arguments');
  });

  it('exports an empty log', async () => {
    expect((await asOther('GET', '/v1/audit/events')).body).toBe('');
  });

  it('may use the same run and call ids: they are other calls', async () => {
    const calls = [{ toolCallId: 'call-1', toolName: 'other_tool', arguments: { n: 1 } }];
    const { status, body } = await asOther('POST', '/v1/tool-calls', { runId: approval.runId, calls });
    expect(status).toBe(201);
    expect(JSON.stringify(body)).not.toContain(approval.callId);
    expect((await api.send('GET', `/v1/runs/${approval.runId}`)).body).toMatchObject({
      calls: [{ toolName: 'delete_file' }],
    });
  });
});
