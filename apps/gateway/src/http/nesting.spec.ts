import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApprovalView, ToolCallView } from '@countersign/contracts';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld, tokenEntries } from '../testing/world.js';
import { createTokens } from '../tokens.js';
import type { World } from '../testing/world.js';

const people = loadPolicy(
  'countersign.policy.yaml',
  `version: 1
approvers:
  - { id: bob, groups: [ops], identities: { email: "Bob@example.com", telegram: "4712" } }
`,
);

let world: World;
let api: Api;
beforeAll(async () => {
  const owned = {
    token: 'owned-token',
    principal: 'owned',
    roles: ['agent' as const],
    agentIds: ['researcher'],
    owner: 'ann',
  };
  world = await openWorld({
    policies: createPolicies([people]),
    change: (ports) => ({ ...ports, tokens: createTokens([...tokenEntries, owned]) }),
  });
  api = createApi(world);
});
afterAll(() => world.close());

interface Refusal {
  readonly code: string;
  readonly errors?: readonly { readonly path: string }[];
}

let nth = 0;
const request = (
  runId: string,
  call: object = {},
  { as = 'agent', ...body }: { as?: string; agentId?: string; onBehalfOf?: string } = {},
) => {
  nth += 1;
  const calls = [
    { toolCallId: `call-${String(nth)}`, toolName: 'delegate', arguments: {}, needsApproval: true, ...call },
  ];
  return api.send<{ calls: ToolCallView[] } & Refusal>('POST', '/v1/tool-calls', {
    as,
    body: { runId, calls, ...body },
  });
};
const requested = async (...given: Parameters<typeof request>): Promise<ToolCallView> => {
  const { status, body } = await request(...given);
  expect(status).toBe(201);
  return body.calls[0] as ToolCallView;
};
const approvalOf = (call: ToolCallView) => call.approval as ApprovalView;
const respond = (approvalId: string, decision: object = { type: 'approve' }, as = 'bob') =>
  api.send<ApprovalView & Refusal>('POST', `/v1/approvals/${approvalId}/responses`, { as, body: { decision } });
const stateOf = async ({ callId }: ToolCallView) =>
  (await api.send<ToolCallView>('GET', `/v1/tool-calls/${callId}`)).body.state;

describe('a call inside another call', () => {
  it('shows the calls around it, the outermost first', async () => {
    const outer = await requested('outer-run', {}, { agentId: 'planner', onBehalfOf: 'dave' });
    const middle = await requested(
      'middle-run',
      { parentCallId: outer.callId },
      { as: 'owned', agentId: 'researcher' },
    );
    const inner = await requested('inner-run', { parentCallId: middle.callId, toolName: 'delete_file' });
    expect(approvalOf(inner).chain).toEqual([
      {
        callId: outer.callId,
        agentId: 'planner',
        toolName: 'delegate',
        runId: 'outer-run',
        requestedBy: 'agent',
        owner: null,
        onBehalfOf: 'dave',
      },
      {
        callId: middle.callId,
        agentId: 'researcher',
        toolName: 'delegate',
        runId: 'middle-run',
        requestedBy: 'owned',
        owner: 'ann',
        onBehalfOf: null,
      },
    ]);
    expect(approvalOf(outer).chain).toEqual([]);
  });

  it('is not approved by the approval of the call around it', async () => {
    const outer = await requested('approved-run');
    const before = await requested('approved-run', { parentCallId: outer.callId });
    await respond(approvalOf(outer).approvalId);
    const after = await requested('approved-run', { parentCallId: outer.callId });
    expect([await stateOf(outer), await stateOf(before), await stateOf(after)]).toEqual([
      'approved',
      'awaiting_approval',
      'awaiting_approval',
    ]);
    const claim = await api.send<Refusal>('POST', `/v1/tool-calls/${before.callId}/claim`, {
      ...{ as: 'worker', body: { resolverId: 'w' } },
    });
    expect(claim.body.code).toBe('not-approved');
  });

  it.each(['tc_aaaaaaaaaaaaaaaaaaaaaaaaaa', 'nonsense'])(
    'is refused when its parent is not recorded: %s',
    async (id) => {
      const { status, body } = await request('no-parent', { parentCallId: id });
      expect([status, body.code, body.errors?.[0]?.path]).toEqual([400, 'invalid-request', 'calls.0.parentCallId']);
    },
  );

  it("is refused when its parent is another tenant's", async () => {
    const theirs = await requested('their-run', {}, { as: 'other' });
    const { body } = await request('no-parent', { parentCallId: theirs.callId });
    expect(body.errors?.[0]?.path).toBe('calls.0.parentCallId');
  });

  it('has at most eight calls around it', async () => {
    let parent = await requested('deep');
    for (let depth = 1; depth <= 8; depth += 1) parent = await requested('deep', { parentCallId: parent.callId });
    const { status, body } = await request('deep', { parentCallId: parent.callId });
    expect([status, body.errors?.[0]?.path]).toEqual([400, 'calls.0.parentCallId']);
  });
});

describe('the people behind a request', () => {
  it.each([
    ['the owner of the agent', 'ann', { as: 'owned' }],
    ['the person for whom it acts', 'bob', { onBehalfOf: ' BOB' }],
    ['a person named by an e-mail address', 'bob', { onBehalfOf: 'bob@EXAMPLE.com' }],
    ['a person named by an account of a channel', 'bob', { onBehalfOf: '4712' }],
  ])('cannot approve it: %s', async (_, person, by) => {
    const call = await requested('whose', {}, by);
    expect((await respond(approvalOf(call).approvalId, { type: 'approve' }, person)).body.code).toBe('own-request');
    const inner = await requested('inside', { parentCallId: call.callId });
    expect((await respond(approvalOf(inner).approvalId, { type: 'approve' }, person)).body.code).toBe('own-request');
    expect((await respond(approvalOf(inner).approvalId, { type: 'approve' }, 'me')).body.state).toBe('approved');
  });
});

describe('a cancelled run', () => {
  const cancelled = async () => {
    const outer = await requested('doomed');
    const inner = await requested('doomed-inside', { parentCallId: outer.callId });
    const foreign = await requested('foreign-inside', { parentCallId: outer.callId }, { as: 'agent2' });
    const { body } = await api.send<{ cancelled: string[]; notCancelled: object[] }>('POST', '/v1/runs/doomed/cancel', {
      body: { reason: 'stop' },
    });
    return { outer, inner, foreign, body };
  };

  it('ends what its principal runs inside it, and nothing of another principal', async () => {
    const { outer, inner, foreign, body } = await cancelled();
    expect(body).toMatchObject({ cancelled: [outer.callId, inner.callId], notCancelled: [] });
    expect([await stateOf(inner), await stateOf(foreign)]).toEqual(['cancelled', 'awaiting_approval']);
  });

  it('is not revived by a late answer, a claim, or a new call inside it', async () => {
    const { outer, inner } = await cancelled();
    const decisions = [
      { type: 'approve' },
      { type: 'deny' },
      { type: 'answer', output: 1 },
      { type: 'edit', arguments: { a: 1 } },
    ];
    for (const call of [outer, inner]) {
      for (const decision of decisions) {
        const { status, body } = await respond(approvalOf(call).approvalId, decision);
        expect([status, body.code]).toEqual([409, 'already-resolved']);
      }
      const path = `/v1/tool-calls/${call.callId}/claim`;
      const claim = await api.send<Refusal>('POST', path, { as: 'worker', body: { resolverId: 'w' } });
      expect([claim.status, claim.body.code]).toEqual([409, 'not-approved']);
      expect(await stateOf(call)).toBe('cancelled');
    }
    const { status, body } = await request('too-late', { parentCallId: outer.callId });
    expect([status, body.code]).toEqual([409, 'already-settled']);
  });
});
