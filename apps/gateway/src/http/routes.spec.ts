import { fireDue } from '@countersign/commands';
import { lintMetrics } from '@countersign/shell/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApprovalView, ClaimView, RunView, ToolCallView } from '@countersign/contracts';
import { actionDigest } from '@countersign/contracts';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { createTestPolicies } from '../testing/policies.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld({ policies: createTestPolicies() });
  api = createApi(world);
});
afterAll(() => world.close());

const approve = { decision: { type: 'approve' }, reason: 'seen with ops' };
const respond = (approvalId: string, body: unknown = approve, as = 'ann') =>
  api.send<ApprovalView>('POST', `/v1/approvals/${approvalId}/responses`, { as, body });

describe('the life of a call', () => {
  it('is requested, approved, claimed, renewed, executed; each write shows at once, with its position', async () => {
    const approval = await api.pending({ arguments: { path: '/etc/hosts' }, reason: 'outside the workspace' });
    const path = `/v1/tool-calls/${approval.callId}`;
    const run = await api.send<RunView>('GET', `/v1/runs/${approval.runId}`);
    expect(run.body).toMatchObject({ stopReason: 'awaiting_approval', hasPendingApprovals: true });

    const answered = await respond(approval.approvalId);
    expect(answered).toMatchObject({
      status: 200,
      body: { state: 'approved', responses: [{ respondedBy: 'ann', via: 'api' }] },
    });
    expect(Number(answered.headers.get('countersign-position'))).toBe(world.readModel.checkpoint());

    const claim = await api.send<ClaimView>('POST', `${path}/claim`, {
      as: 'worker',
      body: { resolverId: 'w1', leaseMs: 5000 },
    });
    expect(claim.status).toBe(200);
    expect(actionDigest(claim.body.digestInput, claim.body.arguments)).toBe(claim.body.actionDigest);
    const renewed = await api.send<ClaimView>('POST', `${path}/claim/renew`, {
      as: 'worker',
      body: { attempt: 1, leaseMs: 90_000 },
    });
    expect(renewed.body.leaseUntil > claim.body.leaseUntil).toBe(true);

    const outcome = { attempt: 1, status: 'succeeded', output: { deleted: true } };
    const reported = await api.send<ToolCallView>('POST', `${path}/outcome`, { as: 'worker', body: outcome });
    expect(reported).toMatchObject({ status: 200, body: { state: 'succeeded', output: { deleted: true } } });
    const settled = await api.send<ToolCallView>('GET', path);
    expect(settled.body.settledAt).not.toBeNull();
    expect((await api.send<RunView>('GET', `/v1/runs/${approval.runId}`)).body.stopReason).toBeNull();
  });

  it('is 201 when any call is new, else 200, with all calls in order', async () => {
    const call = (id: string) => ({ toolCallId: id, toolName: 'read', arguments: { id } });
    const send = (...ids: string[]) =>
      api.send<{ calls: ToolCallView[] }>('POST', '/v1/tool-calls', {
        body: { runId: 'ordered', calls: ids.map(call) },
      });
    expect((await send('b', 'a')).status).toBe(201);
    const more = await send('c', 'a', 'b');
    expect(more.status).toBe(201);
    expect(more.body.calls.map(({ toolCallId }) => toolCallId)).toEqual(['c', 'a', 'b']);
    expect((await send('a', 'b', 'c')).status).toBe(200);
  });

  it('can be answered by a person in place of the run', async () => {
    const { approvalId, callId } = await api.pending();
    await respond(approvalId, { decision: { type: 'answer', output: [1, null, 'x'] }, instruction: 'go on' });
    const { body } = await api.send('GET', `/v1/tool-calls/${callId}`);
    expect(body).toMatchObject({ state: 'succeeded', output: [1, null, 'x'], instruction: 'go on' });
  });

  it('runs the edited arguments, and shows the original ones too', async () => {
    const { approvalId, callId, actionDigest: before } = await api.pending({ arguments: { path: '/', force: true } });
    await respond(approvalId, { decision: { type: 'edit', arguments: { path: '/tmp' } }, actionDigest: before });
    const { body } = await api.send<ToolCallView>('GET', `/v1/tool-calls/${callId}`);
    expect(body).toMatchObject({
      state: 'approved',
      arguments: { path: '/tmp' },
      originalArguments: { path: '/', force: true },
    });
    expect(body.actionDigest).not.toBe(before);
  });

  it('executed by its client takes the output from there', async () => {
    const { callId } = await api.request({ clientExecuted: true });
    const body = { status: 'failed', error: { message: 'no network' } };
    const { status, body: call } = await api.send('POST', `/v1/tool-calls/${callId}/output`, { body });
    expect([status, call]).toMatchObject([200, { state: 'failed', error: { message: 'no network' } }]);
  });

  it('is asked about again after it was allowed, with an empty body', async () => {
    const { callId } = await api.request();
    const asked = await api.send<ApprovalView>('POST', `/v1/tool-calls/${callId}/approvals`);
    expect(asked).toMatchObject({ status: 201, body: { callId, round: 1, state: 'pending' } });
  });
});

describe('a vote', () => {
  it('is withdrawn while the approval is pending', async () => {
    const { approvalId } = await api.pending({ toolName: 'two_people' });
    expect((await respond(approvalId)).body.responses).toHaveLength(1);
    const withdrawn = await api.send<ApprovalView>('DELETE', `/v1/approvals/${approvalId}/responses/mine`, {
      as: 'ann',
    });
    expect(withdrawn).toMatchObject({ status: 200, body: { state: 'pending', responses: [] } });
    expect(withdrawn.headers.get('countersign-position')).not.toBeNull();
  });

  describe('that was given again after a withdrawal', () => {
    const withdraw = (approvalId: string, more: { query?: string; headers?: Record<string, string> } = {}) =>
      api.send<ApprovalView & { code?: string; response?: number }>(
        'DELETE',
        `/v1/approvals/${approvalId}/responses/mine${more.query ?? ''}`,
        { as: 'ann', headers: more.headers ?? {} },
      );
    const numbers = async (approvalId: string) =>
      (await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' })).body.responses.map(
        (one) => one.number,
      );

    it.each([
      ['that names the response', { query: '?response=1' }],
      ['with the same idempotency key', { headers: { 'idempotency-key': 'take-it-back' } }],
    ])('is not taken back by a repeat %s', async (_, how) => {
      const { approvalId } = await api.pending({ toolName: 'two_people' });
      await respond(approvalId);
      expect((await withdraw(approvalId, how)).body.responses).toEqual([]);
      await respond(approvalId);
      expect(await numbers(approvalId)).toEqual([2]);
      expect((await withdraw(approvalId, how)).status).toBe(200);
      expect(await numbers(approvalId)).toEqual([2]);
    });

    it('is not taken back by a repeat that says nothing more, and that is told how to say it', async () => {
      const { approvalId } = await api.pending({ toolName: 'two_people' });
      await respond(approvalId);
      await withdraw(approvalId);
      await respond(approvalId);
      const { status, body } = await withdraw(approvalId);
      expect({ status, ...body }).toMatchObject({ status: 409, code: 'already-voted', response: 2 });
      expect((await withdraw(approvalId, { query: '?response=2' })).body.responses).toEqual([]);
      await respond(approvalId);
      expect((await withdraw(approvalId, { headers: { 'idempotency-key': 'new' } })).body.responses).toEqual([]);
    });

    it('is not found under the number of another person', async () => {
      const { approvalId } = await api.pending({ toolName: 'two_people' });
      await respond(approvalId);
      const body = (await api.send('DELETE', `/v1/approvals/${approvalId}/responses/mine?response=1`, { as: 'bob' }))
        .body;
      expect(body).toMatchObject({ code: 'unknown-approval' });
      expect((await withdraw(approvalId, { query: '?response=7' })).body.code).toBe('unknown-approval');
    });
  });

  it.each([
    ['the command line', 'cli'],
    ['the MCP server for approvers', 'mcp'],
    ['another client', 'other'],
  ])('of %s says so', async (_, client) => {
    const { approvalId } = await api.pending();
    const headers = { 'countersign-client': client };
    const { body } = await api.send('POST', `/v1/approvals/${approvalId}/responses`, {
      as: 'ann',
      body: approve,
      headers,
    });
    expect(body).toMatchObject({ responses: [{ via: client === 'other' ? 'api' : client }] });
  });
});

describe('many approvals', () => {
  const bulk = (body: unknown) =>
    api.send<{
      results: { approvalId: string; status: string; approval?: ApprovalView; problem?: { code: string } }[];
    }>('POST', '/v1/approvals/responses', { as: 'ann', body });

  it('get one answer, each with its own result', async () => {
    const [one, two] = [await api.pending(), await api.pending()];
    await respond(two.approvalId, undefined, 'bob');
    const { status, body } = await bulk({ approvalIds: [one.approvalId, two.approvalId, 'apr_nobody'], ...approve });
    expect(status).toBe(200);
    expect(body.results).toMatchObject([
      { approvalId: one.approvalId, status: 'done', approval: { state: 'approved' } },
      { approvalId: two.approvalId, status: 'rejected', problem: { code: 'already-resolved', respondedBy: 'bob' } },
      { approvalId: 'apr_nobody', status: 'rejected', problem: { code: 'unknown-approval', status: 404 } },
    ]);
  });

  it('are all left alone when one cannot be answered and all was asked', async () => {
    const [one, two] = [await api.pending(), await api.pending()];
    await respond(two.approvalId, undefined, 'bob');
    const ids = [one.approvalId, two.approvalId];
    const { body } = await bulk({ approvalIds: ids, mode: 'all-or-nothing', ...approve });
    expect(body.results.map(({ status }) => status)).toEqual(['skipped', 'rejected']);
    expect((await api.send('GET', `/v1/approvals/${one.approvalId}`, { as: 'ann' })).body).toMatchObject({
      state: 'pending',
    });
  });

  it('are previewed by a dry run: each result is what the rules say, and nothing is recorded', async () => {
    const [one, two] = [await api.pending(), await api.pending()];
    await respond(two.approvalId, undefined, 'bob');
    const before = world.readModel.checkpoint();
    const { body } = await bulk({ approvalIds: [one.approvalId, two.approvalId], dryRun: true, ...approve });
    expect(body.results).toMatchObject([
      { approvalId: one.approvalId, status: 'possible', approval: { state: 'pending' } },
      { approvalId: two.approvalId, status: 'rejected', problem: { code: 'already-resolved' } },
    ]);
    expect(world.readModel.checkpoint()).toBe(before);
  });

  it('are bound to what was seen: one whose arguments another person edited meanwhile is not approved', async () => {
    const [one, two] = [await api.pending(), await api.pending()];
    const actionDigests = {
      [one.approvalId]: one.actionDigest,
      [two.approvalId]: `sha256:${'0'.repeat(64)}`,
    };
    const { body } = await bulk({ approvalIds: [one.approvalId, two.approvalId], actionDigests, ...approve });
    expect(body.results).toMatchObject([
      { approvalId: one.approvalId, status: 'done' },
      { approvalId: two.approvalId, status: 'rejected', problem: { code: 'digest-mismatch' } },
    ]);
  });

  it('are listed oldest first, page by page, by every filter', async () => {
    const runId = 'listed';
    const calls = ['a', 'b', 'c'].map((id) => ({
      toolCallId: id,
      toolName: `tool_${id}`,
      arguments: {},
      needsApproval: true,
    }));
    await api.send('POST', '/v1/tool-calls', { body: { runId, agentId: 'lister', calls } });
    interface Page {
      approvals: ApprovalView[];
      nextCursor: string | null;
      position: number;
    }
    const list = (query: string) => api.send<Page>('GET', `/v1/approvals?${query}`, { as: 'ann' });
    const first = await list('runId=listed&limit=2');
    expect(first.body.approvals.map(({ toolName }) => toolName)).toEqual(['tool_a', 'tool_b']);
    expect(first.body.position).toBe(world.readModel.checkpoint());
    const rest = await list(`runId=listed&limit=2&cursor=${encodeURIComponent(first.body.nextCursor ?? '')}`);
    expect(rest.body).toMatchObject({ approvals: [{ toolName: 'tool_c' }], nextCursor: null });
    expect((await list('toolName=tool_b&agentId=lister&state=pending')).body.approvals).toHaveLength(1);
    expect((await list('agentId=lister&state=denied')).body.approvals).toEqual([]);
    expect((await list('runId=listed&group=ops')).body.approvals).toHaveLength(3);
    expect((await list('cursor=nonsense')).status).toBe(400);
  });
});

describe('cancelling', () => {
  it('ends a call, with a reason', async () => {
    const { callId } = await api.pending();
    const { status, body } = await api.send('POST', `/v1/tool-calls/${callId}/cancel`, {
      body: { reason: 'changed my mind' },
    });
    expect([status, body]).toMatchObject([200, { state: 'cancelled', approval: { state: 'cancelled' } }]);
  });

  it('a run ends its open calls, and says which it could not', async () => {
    const call = (id: string, more = {}) => ({ toolCallId: id, toolName: 't', arguments: {}, ...more });
    const calls = [
      call('waiting', { needsApproval: true }),
      call('allowed'),
      call('claimed'),
      call('done', { clientExecuted: true }),
    ];
    const { body } = await api.send<{ calls: ToolCallView[] }>('POST', '/v1/tool-calls', {
      body: { runId: 'to-cancel', calls },
    });
    const [waiting, allowed, claimed, done] = body.calls.map(({ callId }) => callId);
    await api.send('POST', `/v1/tool-calls/${claimed}/claim`, { as: 'worker', body: { resolverId: 'w' } });
    await api.send('POST', `/v1/tool-calls/${done}/output`, { body: { status: 'succeeded', output: null } });
    const cancelled = await api.send('POST', '/v1/runs/to-cancel/cancel', { body: { reason: 'stop' } });
    expect(cancelled.status).toBe(200);
    expect(cancelled.body).toEqual({
      runId: 'to-cancel',
      cancelled: [waiting, allowed],
      notCancelled: [{ callId: claimed, code: 'already-claimed', detail: expect.any(String) }],
    });
  });

  it('a run with an all-or-nothing batch counts what fell with its sibling', async () => {
    const calls = ['a', 'b'].map((id) => ({ toolCallId: id, toolName: 't', arguments: {}, needsApproval: true }));
    await api.send('POST', '/v1/tool-calls', {
      body: { runId: 'batch-to-cancel', batchId: 's', batchMode: 'all-or-nothing', calls },
    });
    const { body } = await api.send('POST', '/v1/runs/batch-to-cancel/cancel', { body: { reason: 'stop' } });
    expect(body).toMatchObject({ cancelled: [expect.any(String), expect.any(String)], notCancelled: [] });
  });
});

it('a call that another request cancels at the same moment counts as cancelled with its run', async () => {
  let isRaced = false;
  const raced = await openWorld({
    change: (ports) => {
      const { handler } = ports.commands;
      const handleCommand: typeof handler.handleCommand = async (stream, decide, meta) => {
        if (isRaced) await handler.handleCommand(stream, decide, { ...meta, commandId: `${meta.commandId}-first` });
        return handler.handleCommand(stream, decide, meta);
      };
      return { ...ports, commands: { ...ports.commands, handler: { ...handler, handleCommand } } };
    },
  });
  const other = createApi(raced);
  const { runId, callId } = await other.request();
  isRaced = true;
  const { body } = await other.send('POST', `/v1/runs/${runId}/cancel`, { body: { reason: 'stop' } });
  expect(body).toEqual({ runId, cancelled: [callId], notCancelled: [] });
  await raced.close();
});

it('an unknown outcome is reconciled by an admin', async () => {
  const { callId } = await api.request();
  const claimBody = { resolverId: 'w', leaseMs: 1 };
  await api.send('POST', `/v1/tool-calls/${callId}/claim`, { as: 'worker', body: claimBody });
  await new Promise((resolve) => setTimeout(resolve, 10));
  await world.readModel.reached((await fireDue(world.commands, 'default', callId)) ?? 0);
  expect((await api.send('GET', `/v1/tool-calls/${callId}`)).body).toMatchObject({ state: 'unknown' });
  const body = { status: 'retry', note: 'the provider says it never came' };
  const reconciled = await api.send('POST', `/v1/tool-calls/${callId}/reconcile`, { as: 'admin', body });
  expect(reconciled).toMatchObject({ status: 200, body: { state: 'allowed' } });
});

it('an id may have any characters: it comes back from the path as it was', async () => {
  const runId = 'a/b?c=d&e %41 ünï😀 ../..'.padEnd(256, '😀').slice(0, 255);
  await api.request({}, { runId });
  const { status, body } = await api.send('GET', `/v1/runs/${encodeURIComponent(runId)}`);
  expect([status, body]).toMatchObject([200, { runId }]);
});

describe('operations', () => {
  it('are told without a token', async () => {
    expect(await api.send('GET', '/healthz', { as: null })).toMatchObject({ status: 200, body: { status: 'ok' } });
    const ready = await api.send('GET', '/readyz', { as: null });
    expect(ready).toMatchObject({
      status: 200,
      body: { status: 'ready', checks: { 'event-store': { status: 'ok' } } },
    });
    expect((await api.send('GET', '/openapi.json', { as: null })).body).toMatchObject({ openapi: '3.1.0' });
  });

  it('are told in figures', async () => {
    await api.pending();
    const { body } = await api.send<string>('GET', '/metrics', { as: null });
    expect(body).toMatch(/^countersign_commands_total\{command="RequestToolCall",code="done"\} [1-9]/m);
    expect(body).toMatch(/^countersign_http_request_seconds_count\{route="requestToolCalls",status="201"\} [1-9]/m);
    expect(body).toMatch(/^countersign_store_commits_total [1-9]/m);
    expect(body).toMatch(/^countersign_pending_approvals [1-9]/m);
    expect(body).toMatch(/^countersign_oldest_pending_approval_seconds /m);
    expect(body).toMatch(/^countersign_projection_lag_positions 0$/m);
    expect(body).toMatch(/^process_cpu_seconds_total /m);
    expect(lintMetrics(body)).toEqual([]);
  });

  it('of two gateways in one process do not mix', async () => {
    const other = await openWorld();
    const { body } = await createApi(other).send<string>('GET', '/metrics', { as: null });
    expect(body).toMatch(/^countersign_pending_approvals 0$/m);
    expect(body).not.toMatch(/^countersign_commands_total\{/m);
    await other.close();
  });
});

it.each([
  ['answers', '/v1/approvals', 'ann'],
  ['refusals', '/v1/approvals', null],
  ['paths that are none', '/v1/nothing', 'ann'],
  ['probes', '/healthz', null],
  ['streams of events', '/v1/events', 'ann'],
  ['streams of lines', '/v1/audit/events', 'auditor'],
])('%s are kept out of caches and frames', async (_, path, as) => {
  const away = new AbortController();
  const { headers } = await fetch(`${world.url}${path}`, {
    headers: as === null ? {} : { authorization: `Bearer ${as}-token` },
    signal: away.signal,
  });
  away.abort();
  expect(Object.fromEntries(headers)).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  });
  expect(headers.get('access-control-allow-origin')).toBeNull();
});
