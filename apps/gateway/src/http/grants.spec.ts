import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { celEngine } from '@countersign/cel';
import { argumentsDigest } from '@countersign/contracts';
import type { ApprovalView, GrantPreview, GrantView, ToolCallView } from '@countersign/contracts';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { createApi } from '../testing/api.js';
import type { Api, Reply } from '../testing/api.js';
import { openStream } from '../testing/event-stream.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

const content = loadPolicy(
  'countersign.policy.yaml',
  `version: 1
approvers:
  - { id: ann, groups: [ops] }
  - { id: bob, groups: [security] }
requireApprovalTools: ["free_*"]
rules:
  - id: no-drop
    match: { tools: [drop_table] }
    then: { block: "never" }
  - id: no-large
    match: { tools: [refund] }
    when: args.amount > 1000
    then: { block: "too large" }
  - id: large
    match: { tools: [refund] }
    when: args.amount > 100
    then: { require: { quorum: { approve: 2 }, risk: high } }
  - id: small
    match: { tools: [refund] }
    then: { require: { anyOf: [ops], risk: low } }
  - id: deploy
    match: { tools: [deploy] }
    then: { require: { risk: high } }
  - id: no-prod
    match: { tools: [ship] }
    when: args.env.startsWith("prod")
    then: { block: "never to prod" }
  - id: ship
    match: { tools: [ship] }
    then: { require: { anyOf: [ops], risk: low } }
  - id: two
    match: { tools: [two_people] }
    then: { require: { quorum: { approve: 2 } } }
`,
  celEngine,
);

let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld({ policies: createPolicies([content]) });
  api = createApi(world);
});
afterAll(() => world.close());

const hour = 3_600_000;
const terms = (change: object = {}): object => ({
  ...{ toolName: 'refund', match: { any: true }, expiresInMs: hour, reason: 'a busy week' },
  ...change,
});
const create = (change: object = {}, as = 'ann', query = ''): Promise<Reply<GrantView>> =>
  api.send<GrantView>('POST', `/v1/grants${query}`, { as, body: terms(change) });
const created = async (change: object = {}, as = 'ann'): Promise<GrantView> => {
  const { status, body } = await create(change, as);
  expect(status).toBe(201);
  return body;
};
const read = async (grantId: string): Promise<GrantView> =>
  (await api.send<GrantView>('GET', `/v1/grants/${grantId}`, { as: 'auditor' })).body;
const revoke = (grantId: string, as = 'bob'): Promise<Reply<GrantView>> =>
  api.send<GrantView>('DELETE', `/v1/grants/${grantId}`, { as });
const call = (toolName: string, args: object = {}, more: object = {}): Promise<ToolCallView> =>
  api.request({ toolName, arguments: args }, { ...more });
const refund = (amount: number, more: object = {}): Promise<ToolCallView> => call('refund', { amount }, more);

describe('a standing grant', () => {
  it('covers calls of its tool, and each verdict cites it', async () => {
    const grant = await created();
    expect(grant).toMatchObject({ state: 'active', uses: 0, risk: 'low', createdBy: 'ann', match: { any: true } });
    const covered = await refund(5);
    expect(covered).toMatchObject({
      state: 'allowed',
      verdict: { outcome: 'allow', automatic: true, ruleId: 'small', grantId: grant.grantId },
    });
    expect(covered.verdict.why.join()).toContain('of ann');
    expect(await read(grant.grantId)).toMatchObject({ uses: 1, lastCallIds: [covered.callId] });
    const [, used] = await world.store.readStream(`grant-${grant.grantId}`);
    expect(used).toMatchObject({ type: 'GrantUsed', data: { callId: covered.callId, nth: 1 } });
    await revoke(grant.grantId);
  });

  it('covers nothing after it was revoked, by whichever approver', async () => {
    const { grantId } = await created();
    expect(await revoke(grantId)).toMatchObject({
      status: 200,
      body: { state: 'revoked', revokedBy: 'bob', revokeReason: null },
    });
    expect((await refund(5)).state).toBe('awaiting_approval');
    expect((await revoke(grantId)).status).toBe(200);
  });

  it('says why it was revoked, and records it', async () => {
    const { grantId } = await created();
    const body = { reason: 'the busy day is over' };
    const { status } = await api.send('DELETE', `/v1/grants/${grantId}`, { as: 'bob', body });
    expect(status).toBe(200);
    expect(await read(grantId)).toMatchObject({ state: 'revoked', revokeReason: 'the busy day is over' });
  });

  it('never covers a blocked call, a quorum of two, or another tool', async () => {
    const { grantId } = await created();
    expect((await refund(5000)).state).toBe('blocked');
    expect((await refund(500)).state).toBe('awaiting_approval');
    expect((await call('deploy')).state).toBe('awaiting_approval');
    expect((await read(grantId)).uses).toBe(0);
    await revoke(grantId);
  });

  it('never covers a call that a rule might block, where the expression of that rule has no answer', async () => {
    const { grantId } = await created({ toolName: 'ship' });
    const evasive = await call('ship', { env: ['prod'] });
    expect(evasive.state).toBe('awaiting_approval');
    expect(evasive.verdict.why.join()).toContain('no grant covers it, because "no-prod" might block the call');
    expect((await read(grantId)).uses).toBe(0);
    expect((await call('ship', { env: 'test' })).state).toBe('allowed');
    await revoke(grantId);
  });

  it('covers no more calls than maxUses, and a repeat of a call takes no second use', async () => {
    const { grantId } = await created({ maxUses: 1 });
    const body = { runId: 'repeat', calls: [{ toolCallId: 'a', toolName: 'refund', arguments: { amount: 5 } }] };
    for (const status of [201, 200]) {
      const repeated = await api.send<{ calls: ToolCallView[] }>('POST', '/v1/tool-calls', { body });
      expect(repeated).toMatchObject({ status, body: { calls: [{ state: 'allowed', verdict: { grantId } }] } });
    }
    expect((await refund(5)).state).toBe('awaiting_approval');
    expect(await read(grantId)).toMatchObject({ state: 'exhausted', uses: 1 });
  });

  it('is limited to the run and the agent that it names', async () => {
    const ofRun = await created({ runId: 'the-run' });
    expect((await refund(5)).state).toBe('awaiting_approval');
    expect((await refund(5, { runId: 'the-run' })).state).toBe('allowed');
    await revoke(ofRun.grantId);
    const ofAgent = await created({ agentId: 'billing-1' });
    expect((await refund(5)).state).toBe('awaiting_approval');
    expect((await refund(5, { agentId: 'billing-1' })).state).toBe('allowed');
    await revoke(ofAgent.grantId);
  });

  it('covers exactly the arguments of its digest, and shows only a salted digest', async () => {
    const digest = argumentsDigest('refund', { amount: 7, to: 'a' });
    const grant = await created({ match: { digest } });
    expect(grant.match).toEqual({ digest: expect.not.stringContaining(digest) });
    expect((await call('refund', { to: 'a', amount: 7 })).state).toBe('allowed');
    expect((await call('refund', { to: 'b', amount: 7 })).state).toBe('awaiting_approval');
    const events = await api.send<string>('GET', '/v1/audit/events', { as: 'auditor' });
    expect(events.body).not.toContain(digest);
    await revoke(grant.grantId);
  });

  it('is in the state of the moment before its end, and not in that of later', async () => {
    const { grantId } = await created();
    const grantsAt = async () => {
      const asOf = (await world.store.readAll(0, 10_000)).at(-1)?.recordedAt ?? '';
      await new Promise((resolve) => setTimeout(resolve, 5));
      return async () =>
        (await api.send<{ grants: GrantView[] }>('GET', `/v1/audit/state?asOf=${asOf}`, { as: 'auditor' })).body.grants;
    };
    const inForce = await grantsAt();
    await revoke(grantId);
    const over = await grantsAt();
    expect(await inForce()).toContainEqual(expect.objectContaining({ grantId, state: 'active' }));
    expect(await over()).not.toContainEqual(expect.objectContaining({ grantId }));
  });

  it('covers calls for which its expression is true, and none for which it has no answer', async () => {
    const grant = await created({ match: { when: 'args.amount <= 50 && args.currency == "EUR"' } });
    expect((await call('refund', { amount: 50, currency: 'EUR' })).state).toBe('allowed');
    expect((await call('refund', { amount: 51, currency: 'EUR' })).state).toBe('awaiting_approval');
    expect((await call('refund', { amount: 50 })).state).toBe('awaiting_approval');
    await revoke(grant.grantId);
  });

  it.each([
    ['args.password == "hunter2"', { password: 'hunter2' }, 'awaiting_approval'],
    ['args.password != "root"', { password: 'root' }, 'awaiting_approval'],
    ['args.all(name, args[name] != "root")', { password: 'root' }, 'awaiting_approval'],
    ['args.list.all(one, one != "root")', { list: ['https://a.example/?token=root', 'b'] }, 'awaiting_approval'],
    ['!args.url.contains("root")', { url: 'https://a.example/?token=root' }, 'awaiting_approval'],
    ['args.to == "kim" || args.password == "root"', { to: 'kim', password: 'root' }, 'allowed'],
    ['has(args.password)', { password: 'root' }, 'allowed'],
  ])('covers no call of which its expression reads a hidden value: %s', async (when, args, state) => {
    const grant = await created({ match: { when } });
    expect((await call('refund', { amount: 5, ...args })).state).toBe(state);
    await revoke(grant.grantId);
  });

  it('covers no call in which the agent itself hides what its expression reads', async () => {
    const grant = await created({ match: { when: 'args.to != "mallory"' } });
    const toolSchema = { type: 'object', properties: { to: { type: 'string', writeOnly: true } } };
    const hiding = { toolName: 'refund', arguments: { amount: 5, to: 'mallory' }, toolSchema };
    expect((await api.request(hiding)).state).toBe('awaiting_approval');
    await revoke(grant.grantId);
  });

  it('is not told to agents, over the event stream either', async () => {
    const grant = await created();
    await refund(5);
    await revoke(grant.grantId);
    const seen = async (as: string, types: string, count: number): Promise<Set<string | undefined>> => {
      const stream = await openStream(`${world.url}/v1/events?types=${types}`, as);
      const messages = await stream.until(count);
      stream.close();
      return new Set(messages.map(({ event }) => event));
    };
    expect(await seen('ann', 'GrantRevoked', 1)).toEqual(new Set(['GrantRevoked']));
    const types = 'GrantCreated,GrantUsed,GrantRevoked,ToolCallRequested';
    expect(await seen('agent', types, 1)).toEqual(new Set(['ToolCallRequested']));
  });

  it('covers no call in the name of the second person who confirmed it', async () => {
    const grant = await created({ toolName: 'deploy' });
    await api.send('POST', `/v1/grants/${grant.grantId}/confirm`, { as: 'bob' });
    expect((await call('deploy', {}, { onBehalfOf: 'bob' })).state).toBe('awaiting_approval');
    expect((await call('deploy', {}, { onBehalfOf: 'kim' })).state).toBe('allowed');
    await revoke(grant.grantId);
  });

  it('covers the member of an all-or-nothing batch, which then starts without an approval', async () => {
    const grant = await created();
    const calls = [5, 500].map((amount) => ({ toolCallId: `b${amount}`, toolName: 'refund', arguments: { amount } }));
    const { body } = await api.send<{ calls: ToolCallView[] }>('POST', '/v1/tool-calls', {
      body: { runId: 'batch', batchId: 'b', batchMode: 'all-or-nothing', calls },
    });
    expect(body.calls.map(({ state }) => state)).toEqual(['allowed', 'awaiting_approval']);
    await revoke(grant.grantId);
  });

  it('does not answer where people are asked about a recorded call', async () => {
    const { callId } = await call('read_file');
    const grant = await created({ toolName: 'read_file' });
    const path = `/v1/tool-calls/${callId}/approvals`;
    expect((await api.send<ApprovalView>('POST', path, { body: {} })).body.state).toBe('pending');
    await revoke(grant.grantId);
  });

  it('does not cover its creator, where four eyes are asked for', async () => {
    const other = { as: 'other' };
    const grant = await api.send<GrantView>('POST', '/v1/grants', { ...other, body: terms({ toolName: 'x' }) });
    expect(grant.status).toBe(201);
    const calls = [{ toolCallId: 'a', toolName: 'x', arguments: {}, needsApproval: true }];
    const asked = await api.send<{ calls: ToolCallView[] }>('POST', '/v1/tool-calls', {
      ...other,
      body: { runId: 'own', calls },
    });
    expect(asked.body.calls[0]?.state).toBe('awaiting_approval');
  });
});

describe('a grant of high risk', () => {
  it('waits for a second person, who is not its creator', async () => {
    const grant = await created({ toolName: 'deploy' });
    expect(grant).toMatchObject({ state: 'pending', risk: 'high' });
    expect((await call('deploy')).state).toBe('awaiting_approval');
    const confirm = (as: string) => api.send<GrantView>('POST', `/v1/grants/${grant.grantId}/confirm`, { as });
    expect((await confirm('ann')).body).toMatchObject({ code: 'own-request' });
    expect((await confirm('bob')).body).toMatchObject({ state: 'active', confirmedBy: 'bob' });
    expect((await confirm('bob')).status).toBe(200);
    expect((await confirm('me')).body).toMatchObject({ code: 'already-resolved' });
    expect((await call('deploy')).state).toBe('allowed');
    await revoke(grant.grantId);
    expect((await confirm('me')).body).toMatchObject({ status: 409, code: 'grant-ended' });
  });
});

describe('the roles that grants require', () => {
  it.each(['agent', 'worker', 'auditor', 'admin'])('rejects a grant of %s', async (as) => {
    expect((await create({}, as)).body).toMatchObject({ status: 403, code: 'forbidden' });
  });

  it('rejects a grant of a person who could not approve such a call alone', async () => {
    expect((await create({}, 'bob')).body).toMatchObject({ status: 403, code: 'not-an-approver' });
    expect((await create({ toolName: 'two_people' })).body).toMatchObject({ code: 'not-an-approver' });
    expect((await create({ toolName: 'drop_table' })).body).toMatchObject({ code: 'blocked-by-policy' });
  });

  it('lets auditors and admins read, admins revoke, and agents neither', async () => {
    const { grantId } = await created();
    for (const as of ['auditor', 'admin', 'bob']) {
      expect((await api.send('GET', '/v1/grants', { as })).status).toBe(200);
    }
    for (const as of ['agent', 'worker']) {
      expect((await api.send('GET', '/v1/grants', { as })).status).toBe(403);
      expect((await revoke(grantId, as)).status).toBe(403);
    }
    expect((await revoke(grantId, 'auditor')).status).toBe(403);
    expect((await revoke(grantId, 'admin')).status).toBe(200);
  });

  it('shows a grant to no other tenant', async () => {
    const { grantId } = await created();
    const as = 'other';
    expect((await api.send('GET', `/v1/grants/${grantId}`, { as })).status).toBe(404);
    expect((await revoke(grantId, as)).status).toBe(404);
    expect((await api.send('POST', `/v1/grants/${grantId}/confirm`, { as })).status).toBe(404);
    const { body } = await api.send<{ grants: GrantView[] }>('GET', '/v1/grants', { as });
    expect(body.grants.map((grant) => grant.grantId)).not.toContain(grantId);
    await revoke(grantId);
  });

  it.each([
    ['an unknown field', { extra: 1 }, 'extra'],
    ['no time', { expiresInMs: undefined }, 'expiresInMs'],
    ['more than 90 days', { expiresInMs: 91 * 24 * hour }, 'expiresInMs'],
    ['no reason', { reason: '  ' }, 'reason'],
    ['no use', { maxUses: 0 }, 'maxUses'],
    ['a match of no kind', { match: {} }, 'match'],
    ['two kinds of match', { match: { any: true, when: 'true' } }, 'match'],
    ['an expression that cannot be read', { match: { when: 'args.amount <' } }, 'match.when'],
    ['an expression over an unknown name', { match: { when: 'secrets.a == 1' } }, 'match.when'],
    ['an expression over the run', { match: { when: 'run.calls < 3' } }, 'match.when'],
  ])('rejects %s', async (_, change, path) => {
    const { status, body } = await create(change);
    expect(status).toBe(400);
    expect((body as unknown as { errors: { path: string }[] }).errors.map((one) => one.path)).toContain(path);
  });

  it('answers a repeat with the same key with the same grant', async () => {
    const sent = { as: 'ann', body: terms(), headers: { 'idempotency-key': 'the-key' } };
    const first = await api.send<GrantView>('POST', '/v1/grants', sent);
    const second = await api.send<GrantView>('POST', '/v1/grants', sent);
    expect(second.body.grantId).toBe(first.body.grantId);
    await revoke(first.body.grantId);
  });

  it('lists by state, in pages', async () => {
    const ids = [];
    for (const _ of [1, 2, 3]) ids.push((await created({ toolName: 'listed' })).grantId);
    await revoke(ids[0] ?? '');
    const list = async (query: string) =>
      (await api.send<{ grants: GrantView[]; nextCursor: string | null }>('GET', `/v1/grants?${query}`, { as: 'ann' }))
        .body;
    const first = await list('state=active&toolName=listed&limit=1');
    expect(first.grants.map(({ grantId }) => grantId)).toEqual([ids[2]]);
    const second = await list(`state=active&toolName=listed&limit=1&cursor=${first.nextCursor ?? ''}`);
    expect(second).toMatchObject({ grants: [{ grantId: ids[1] }], nextCursor: null });
    expect((await list('state=revoked&toolName=listed')).grants.map(({ grantId }) => grantId)).toEqual([ids[0]]);
    expect((await api.send('GET', '/v1/grants?cursor=x', { as: 'ann' })).status).toBe(400);
    for (const grantId of ids) await revoke(grantId);
  });
});

describe('a dry run', () => {
  it('says what a grant would have covered, and creates nothing', async () => {
    const calls = [];
    for (const amount of [10, 20, 30, 500]) calls.push(await call('free_refund', { amount }));
    await api.send('POST', `/v1/approvals/${calls[0]?.approval?.approvalId ?? ''}/responses`, {
      as: 'ann',
      body: { decision: { type: 'deny' } },
    });
    const change = { toolName: 'free_refund', match: { when: 'args.amount <= 20' } };
    const { status, body } = await create(change, 'ann', '?dryRun=true');
    const preview = body as unknown as GrantPreview;
    expect(status).toBe(200);
    expect(preview).toMatchObject({ state: 'active', scanned: 4, covered: 2, byOutcome: { pending: 1, denied: 1 } });
    expect(preview.calls.map(({ callId }) => callId)).toEqual([calls[1]?.callId, calls[0]?.callId]);
    expect(await create(change, 'ann', '/preview')).toMatchObject({ status: 200, body });
    const { body: listed } = await api.send<{ grants: GrantView[] }>('GET', '/v1/grants?toolName=free_refund', {
      as: 'ann',
    });
    expect(listed.grants).toEqual([]);
  });

  it('is no way to guess hidden values', async () => {
    const args = { password: '1234' };
    await call('free_login', args);
    const guess = async (match: object): Promise<GrantPreview> =>
      (await create({ toolName: 'free_login', match }, 'ann', '?dryRun=true')).body as unknown as GrantPreview;
    const digest = argumentsDigest('free_login', args);
    expect(await guess({ digest })).toMatchObject({ covered: 0, notCompared: 1 });
    expect(await guess({ when: 'args.password == "1234"' })).toMatchObject({ covered: 0 });
    expect(await guess({ any: true })).toMatchObject({ covered: 1 });
  });
});

describe('an approval that is remembered', () => {
  const remember = { match: 'exact', scope: 'run', expiresInMs: hour };
  const respond = (approvalId: string | undefined, body: object, as = 'ann') =>
    api.send<ApprovalView & { grant?: GrantView }>('POST', `/v1/approvals/${approvalId ?? ''}/responses`, { as, body });

  it('creates the grant with the approval', async () => {
    const asked = await refund(42, { runId: 'remembered' });
    const { status, body } = await respond(asked.approval?.approvalId, { decision: { type: 'approve' }, remember });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      state: 'approved',
      grant: { state: 'active', runId: 'remembered', agentId: 'agent', approvalId: asked.approval?.approvalId },
    });
    const again = (toolCallId: string, amount: number, runId = 'remembered') =>
      api.request({ toolCallId, toolName: 'refund', arguments: { amount } }, { runId });
    expect((await again('second', 42)).verdict.grantId).toBe(body.grant?.grantId);
    expect((await again('third', 43)).state).toBe('awaiting_approval');
    expect((await again('fourth', 42, 'another-run')).state).toBe('awaiting_approval');
    await revoke(body.grant?.grantId ?? '');
  });

  it.each(['exact', 'tool'] as const)(
    'covers no call in another folder, or of another MCP server, with %s',
    async (match) => {
      const runId = `placed-${match}`;
      const place = { cwd: '/work/staging', mcpServer: 'bank', mcpEndpoint: 'one', mcpDefinition: 'x' };
      const at = (toolCallId: string, labels: object) =>
        api.request({ toolName: 'refund', toolCallId, arguments: { amount: 43 }, labels }, { runId });
      const asked = await at('placed', { ...place, ticket: '1' });
      const { body } = await respond(asked.approval?.approvalId, {
        decision: { type: 'approve' },
        remember: { ...remember, match },
      });
      expect(body).toMatchObject({ grant: { labels: place } });
      expect((await at('same', { ...place, ticket: '2' })).state).toBe('allowed');
      for (const other of ['cwd', 'mcpServer', 'mcpEndpoint', 'mcpDefinition'])
        expect((await at(`other-${other}`, { ...place, [other]: 'other' })).state).toBe('awaiting_approval');
      expect((await at('none', {})).state).toBe('awaiting_approval');
    },
  );

  it.each(['exact', 'tool'] as const)('covers no call with another schema of the tool, with %s', async (match) => {
    const runId = `schema-${match}`;
    const schema = (least: number) => ({ type: 'object', properties: { amount: { type: 'number', minimum: least } } });
    const asking = (toolCallId: string, more: object) =>
      api.request({ toolName: 'refund', toolCallId, arguments: { amount: 44 }, ...more }, { runId });
    const asked = await asking('first', { toolSchema: schema(0) });
    const answer = { decision: { type: 'approve' }, remember: { ...remember, match } };
    expect((await respond(asked.approval?.approvalId, answer)).status).toBe(200);
    expect((await asking('same', { toolSchema: schema(0) })).state).toBe('allowed');
    expect((await asking('other', { toolSchema: schema(-1) })).state).toBe('awaiting_approval');
    expect((await asking('none', {})).state).toBe('awaiting_approval');
  });

  it('is refused before the approval is recorded where one person is not enough', async () => {
    const asked = await refund(500);
    const refused = await respond(asked.approval?.approvalId, { decision: { type: 'approve' }, remember });
    expect(refused.body).toMatchObject({ status: 422, code: 'decision-not-allowed' });
    const { body } = await api.send<ApprovalView>('GET', `/v1/approvals/${asked.approval?.approvalId ?? ''}`, {
      as: 'ann',
    });
    expect(body.responses).toEqual([]);
  });

  it('is refused with another decision than an approval, and in a bulk answer', async () => {
    const asked = await refund(5);
    const approvalId = asked.approval?.approvalId ?? '';
    const denied = await respond(approvalId, { decision: { type: 'deny' }, remember });
    expect(denied.body).toMatchObject({ status: 400, errors: [{ path: 'remember' }] });
    const bulk = { approvalIds: [approvalId], decision: { type: 'approve' }, remember };
    const { status, body } = await api.send('POST', '/v1/approvals/responses', { as: 'ann', body: bulk });
    expect(status).toBe(400);
    expect(body).toMatchObject({ errors: [{ path: 'remember' }] });
  });
});
