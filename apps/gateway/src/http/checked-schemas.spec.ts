import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { celEngine } from '@countersign/cel';
import type { ApprovalView, EventView, FieldError, JsonObject, ToolCallView } from '@countersign/contracts';
import { createPolicies, loadPolicy } from '@countersign/policy';
import type { Policies } from '@countersign/policy';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

const policiesWith = (more: string): Policies => {
  const rule = (tool: string, required: string): string =>
    `  - { id: ${tool}, match: { tools: [${tool}] }, then: { require: { ${required} } } }\n`;
  const rules = rule('strict', 'requireCheckedSchema: true') + rule('pay', `risk: low${more}`);
  return createPolicies([loadPolicy('policy.yaml', `version: 1\ndefault: allow\nrules:\n${rules}`, celEngine)]);
};

let policies = policiesWith('');
let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld({ policies: { of: (tenant) => policies.of(tenant) } });
  api = createApi(world);
});
afterAll(() => world.close());
beforeEach(() => {
  policies = policiesWith('');
});

const odd = {
  type: 'object',
  properties: { to: { type: 'string', pattern: '(?<!x)y' }, amount: { type: 'number' }, pin: { writeOnly: true } },
} as const satisfies JsonObject;
const whole = { type: 'object', properties: { to: { type: 'string' } } } as const satisfies JsonObject;
const notes = [{ pointer: '/properties/to/pattern', why: expect.stringContaining('RE2') }];

interface Answer {
  readonly calls: readonly ToolCallView[];
  readonly code: string;
  readonly errors: readonly FieldError[];
}

let runs = 0;
const request = async (...calls: object[]) => {
  runs += 1;
  const named = calls.map((call, at) => ({ toolCallId: `c${at}`, toolName: 'strict', arguments: {}, ...call }));
  return api.send<Answer>('POST', '/v1/tool-calls', { body: { runId: `checked-${runs}`, calls: named } });
};
const answer = (approvalId: string, decision: object) =>
  api.send<Answer>('POST', `/v1/approvals/${approvalId}/responses`, { as: 'ann', body: { decision } });
const edit = (approvalId: string, args: object) => answer(approvalId, { type: 'edit', arguments: args });

describe('a call whose schema is not checked whole', () => {
  it('says so in the call, the approval, the list, the run and the event, and runs', async () => {
    const asked = await api.pending({ toolName: 'pay', arguments: { to: 'y', pin: 1 }, toolSchema: odd });
    const { approvalId, callId, runId } = asked;
    const get = async <T>(path: string) => (await api.send<T>('GET', path, { as: 'ann' })).body;
    expect(asked.schemaNotes).toEqual(notes);
    expect((await get<ToolCallView>(`/v1/tool-calls/${callId}`)).schemaNotes).toEqual(notes);
    const { approvals } = await get<{ approvals: ApprovalView[] }>(`/v1/approvals?runId=${runId}`);
    expect(approvals.map((one) => one.schemaNotes)).toEqual([notes]);
    expect(JSON.stringify(await get(`/v1/runs/${runId}`))).toContain('/properties/to/pattern');
    const path = `/v1/audit/tool-calls/${callId}/events`;
    const { body } = await api.send<{ events: EventView[] }>('GET', path, { as: 'auditor' });
    expect(body.events[0]?.data).toMatchObject({ schemaNotes: notes, toolSchema: odd });
    expect((await answer(approvalId, { type: 'approve' })).status).toBe(200);
    const claim = { as: 'worker', body: { resolverId: 'w' } };
    expect((await api.send('POST', `/v1/tool-calls/${callId}/claim`, claim)).status).toBe(200);
  });

  it('hides its marked values, also in an edit, whose other arguments are checked', async () => {
    const { approvalId, arguments: shown } = await api.pending({
      ...{ toolName: 'pay', arguments: { to: 'y', pin: 4711 }, toolSchema: odd },
    });
    expect(shown).toEqual({ to: 'y', pin: 4711 });
    const { body } = await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' });
    expect(JSON.stringify(body)).not.toContain('4711');
    expect((await edit(approvalId, { to: 'y', amount: 'many' })).body.errors).toEqual([
      { path: 'amount', message: 'must be number' },
    ]);
    expect((await edit(approvalId, { ...body.arguments, amount: 5 })).status).toBe(200);
    const { body: edited } = await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' });
    expect(edited.schemaNotes).toEqual(notes);
    expect(JSON.stringify(edited)).not.toContain('4711');
  });

  it('hides all of a value whose mark is under a keyword that is not understood', async () => {
    const inner = { type: 'string', contentSchema: { properties: { card: { 'x-sensitive': true } } } };
    const toolSchema = { properties: { a: inner, b: { type: 'string' } } };
    const { approvalId } = await api.pending({ arguments: { a: '{"card":"4242"}', b: 'seen' }, toolSchema });
    const { body } = await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' });
    expect(body.arguments).toEqual({ a: expect.stringMatching(/^\[masked/), b: 'seen' });
    expect(body.schemaNotes).toEqual([
      { pointer: '/properties/a/contentSchema/properties/card', why: expect.stringContaining('hidden') },
    ]);
  });

  it('is the same call only with the same schema', async () => {
    const call = { toolName: 'pay', toolCallId: 'same', arguments: { to: 'y' }, toolSchema: odd };
    const send = (change: object) =>
      api.send<Answer>('POST', '/v1/tool-calls', { body: { runId: 'repeats', calls: [{ ...call, ...change }] } });
    expect([(await send({})).status, (await send({})).status]).toEqual([201, 200]);
    expect(await send({ toolSchema: whole })).toMatchObject({ status: 409, body: { code: 'tool-call-mismatch' } });
  });

  it('is recorded without its schema where that has more than 256 KiB, and keeps its marks', async () => {
    const properties = { pin: { type: 'string', writeOnly: true }, to: { description: 'x'.repeat(300_000) } };
    const call = {
      toolName: 'pay',
      toolCallId: 'large',
      arguments: { pin: '4711', to: 5 },
      toolSchema: { properties },
    };
    const send = () => api.send<Answer>('POST', '/v1/tool-calls', { body: { runId: 'large', calls: [call] } });
    const { body } = await send();
    const [recorded] = body.calls;
    expect(recorded?.schemaNotes).toEqual([{ pointer: '', why: 'has more than 256 KiB' }]);
    expect((await send()).status).toBe(200);
    const approvalId = recorded?.approval?.approvalId ?? '';
    expect((await edit(approvalId, { pin: '4712', to: 6 })).status).toBe(200);
    const { body: shown } = await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'bob' });
    expect(JSON.stringify(shown)).not.toMatch(/471[12]/);
  });
});

describe('a rule that demands a checked schema', () => {
  it.each([
    ['a schema with a part that is not checked', { toolSchema: odd }],
    ['no schema', {}],
  ])('refuses a call with %s, and names it alone', async (_, call) => {
    const free = { toolName: 'read', toolSchema: odd };
    const { status, body } = await request({ toolSchema: whole }, call, free);
    expect([status, body.code, body.errors.map(({ path }) => path)]).toEqual([
      ...[400, 'invalid-request'],
      ['calls.1.toolSchema'],
    ]);
    expect((await request({ toolSchema: whole }, free)).status).toBe(201);
  });

  it('refuses it also under a standing grant', async () => {
    const terms = { toolName: 'strict', match: { any: true }, expiresInMs: 60_000, reason: 'for the test' };
    expect((await api.send('POST', '/v1/grants', { as: 'ann', body: terms })).status).toBe(201);
    expect((await request({ toolSchema: odd })).status).toBe(400);
    const { body } = await request({ toolSchema: whole });
    expect(body.calls[0]?.state).toBe('allowed');
  });

  it('refuses an edit of a call that was recorded before it, and lets the waiting question be answered', async () => {
    const pending = () => api.pending({ toolName: 'pay', arguments: { to: 'y' }, toolSchema: odd });
    const [first, second] = [await pending(), await pending()];
    policies = policiesWith(', requireCheckedSchema: true');
    expect(await edit(first.approvalId, { to: 'y', amount: 1 })).toMatchObject({
      ...{ status: 422, body: { code: 'invalid-arguments' } },
    });
    const approvalIds = [first.approvalId, second.approvalId];
    const body = { approvalIds, decision: { type: 'approve' }, mode: 'all-or-nothing' };
    expect((await api.send('POST', '/v1/approvals/responses', { as: 'ann', body })).status).toBe(200);
    expect((await request({ toolName: 'pay', toolSchema: odd })).status).toBe(400);
  });

  it('refuses to ask people about a call that was allowed before', async () => {
    policies = createPolicies([]);
    const { callId } = await api.request({ toolName: 'strict', toolSchema: odd });
    policies = policiesWith('');
    const asked = await api.send<Answer>('POST', `/v1/tool-calls/${callId}/approvals`, { body: {} });
    expect(asked).toMatchObject({ status: 400, body: { code: 'invalid-request', errors: [{ path: 'toolSchema' }] } });
  });
});
