import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createWriteSide } from '@countersign/commands';
import type { ApprovalView } from '@countersign/contracts';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { createHistory } from '@countersign/shell';
import { createPeople } from '../people.js';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { createChangingTokens } from '../testing/changing-tokens.js';
import { openWorld, tokenEntries } from '../testing/world.js';
import type { World } from '../testing/world.js';
import type { TokenEntry } from '../tokens.js';

const policy = `
version: 1
rules:
  - { id: wire, then: { require: { quorum: { approve: 2, of: [support] }, requireReason: [deny] } } }
`;
const person = (principal: string, group: string): TokenEntry => ({
  ...{ token: `${principal}-token`, principal, roles: ['approver'], groups: [group] },
});
const entries: readonly TokenEntry[] = [
  // A front end has any number of people in its groups.
  ...tokenEntries.filter(({ roles }) => !roles.includes('front-end')),
  ...[person('alice', 'support'), person('sam', 'security'), person('owen', 'support')],
  { token: 'owned-token', principal: 'owned', roles: ['agent'], agentIds: ['*'], owner: 'owen' },
  { token: 'looks-token', principal: 'looks', roles: ['auditor'] },
];

type MayDecide = NonNullable<ApprovalView['mayDecide']>;

let world: World;
let api: Api;
let tokens: ReturnType<typeof createChangingTokens>;

beforeEach(async () => {
  tokens = createChangingTokens(entries);
  world = await openWorld({
    change: (ports) => ({
      ...ports,
      tokens,
      commands: createWriteSide({
        ...{ store: ports.store, ids: ports.ids, log: ports.log, tools: ports.commands.tools },
        policies: createPolicies([loadPolicy('countersign.policy.yaml', policy)]),
        people: createPeople({ tokens: () => tokens, channels: undefined, issuer: null }),
        history: createHistory(ports.readModel),
      }),
    }),
  });
  api = createApi(world);
});
afterEach(() => world.close());

describe('an approval says whether the reader may decide it now', () => {
  it.each<[string, MayDecide]>([
    ['alice', { now: true }],
    ['sam', { now: false, why: 'not-an-approver', detail: 'Others are asked to answer this approval.' }],
    [
      'owen',
      {
        ...{ now: false, why: 'own-request' },
        detail: 'This tool call was requested by you, by your agent, or in your name.',
      },
    ],
    ['looks', { now: false, why: 'forbidden', detail: 'You do not have the role approver.' }],
  ])('to %s', async (as, mayDecide) => {
    const body = { runId: 'run-1', calls: [{ toolCallId: 'a', toolName: 'wire', arguments: {} }] };
    const asked = await api.send<{ calls: { approval: ApprovalView }[] }>('POST', '/v1/tool-calls', {
      as: 'owned',
      body,
    });
    const approvalId = asked.body.calls[0]?.approval.approvalId ?? '';
    const path = `/v1/approvals/${approvalId}`;
    expect((await api.send<ApprovalView>('GET', path, { as })).body.mayDecide).toEqual(mayDecide);
    const list = await api.send<{ approvals: ApprovalView[] }>('GET', '/v1/approvals?state=pending', { as });
    expect(list.body.approvals.map((one) => one.mayDecide)).toEqual([mayDecide]);
    // The same as the answer to the response itself.
    if (as === 'looks') return;
    const response = { decision: { type: 'deny' }, reason: 'no' };
    const answer = await api.send<{ code?: string }>('POST', `${path}/responses`, { as, body: response });
    expect(answer.body.code).toBe(mayDecide.now ? undefined : mayDecide.why);
  });
});

describe('every answer that holds an approval says it', () => {
  type Answer = { calls: { callId: string; approval: ApprovalView }[]; approval: ApprovalView } & ApprovalView;
  const body = { runId: 'run-1', calls: [{ toolCallId: 'a', toolName: 'wire', arguments: {} }] };
  const send = async (method: 'GET' | 'POST' | 'DELETE', path: string, as: string, more = {}) =>
    (await api.send<Answer>(method, path, { as, ...more })).body;

  it('to the agent that asks, to each person who responds, and in lists, runs and waits', async () => {
    const asked = await send('POST', '/v1/tool-calls', 'owned', { body });
    const [call] = asked.calls;
    expect(call?.approval.mayDecide).toMatchObject({ now: false, why: 'forbidden' });
    const path = `/v1/approvals/${call?.approval.approvalId ?? ''}`;
    const callPath = `/v1/tool-calls/${call?.callId ?? ''}`;
    expect((await send('GET', callPath, 'alice')).approval.mayDecide).toEqual({ now: true });
    expect((await send('GET', '/v1/tool-calls', 'alice')).calls[0]?.approval.mayDecide).toEqual({ now: true });
    const run = await api.send<{ pendingApprovals: ApprovalView[]; calls: Answer[] }>('GET', '/v1/runs/run-1', {
      as: 'alice',
    });
    expect(run.body.pendingApprovals[0]?.mayDecide).toEqual({ now: true });
    expect(run.body.calls[0]?.approval.mayDecide).toEqual({ now: true });
    const bulk = await api.send<{ results: { approval: ApprovalView }[] }>('POST', '/v1/approvals/responses', {
      as: 'sam',
      body: { approvalIds: [call?.approval.approvalId], decision: { type: 'deny' }, reason: 'no', dryRun: true },
    });
    expect(bulk.body.results[0]?.approval.mayDecide).toMatchObject({ now: false, why: 'not-an-approver' });
    const voted = await send('POST', `${path}/responses`, 'alice', { body: { decision: { type: 'approve' } } });
    expect(voted.mayDecide).toMatchObject({ now: false, why: 'already-voted' });
    const withdrawn = await send('DELETE', `${path}/responses/mine?response=1`, 'alice');
    expect(withdrawn.mayDecide).toEqual({ now: true });
    const cancelled = await send('POST', `${callPath}/cancel`, 'owned', { body: { reason: 'no' } });
    expect(cancelled.approval.mayDecide).toMatchObject({ now: false });
    expect((await send('GET', path, 'alice')).mayDecide).toMatchObject({ now: false, why: 'already-resolved' });
  });
});

describe('an approval for which too few approvers are left', () => {
  it('says so to all who read it, from the removal on, and no more after people are there again', async () => {
    const body = { runId: 'run-1', calls: [{ toolCallId: 'a', toolName: 'wire', arguments: {} }] };
    const plain = {
      ...entries[0],
      principal: 'plain',
      token: 'plain-token',
      roles: ['agent' as const],
      agentIds: ['*'],
    };
    const kim = person('kim', 'support');
    tokens.replace([...entries, plain, kim]);
    const asked = await api.send<{ calls: { approval: ApprovalView }[] }>('POST', '/v1/tool-calls', {
      ...{ as: 'plain', body },
    });
    const approval = asked.body.calls[0]?.approval;
    expect(approval).not.toHaveProperty('noApproverLeft');
    const noApproverLeft = {
      stage: 0,
      detail: 'Too few people of "support" are left for stage 1, without the requesters and those who have responded.',
    };
    const read = async (as: string) =>
      (await api.send<ApprovalView>('GET', `/v1/approvals/${approval?.approvalId ?? ''}`, { as })).body;
    const without = (...principals: readonly string[]) =>
      [...entries, plain, kim].filter((one) => !principals.includes(one.principal));
    tokens.replace(without('owen', 'kim'));
    expect(await read('alice')).toMatchObject({ noApproverLeft, mayDecide: { now: true } });
    const own = await api.send<{ approval: ApprovalView }>('GET', `/v1/tool-calls/${approval?.callId ?? ''}`, {
      as: 'plain',
    });
    expect(own.body.approval.noApproverLeft).toEqual(noApproverLeft);
    const text = async (path: string) => (await fetch(`${world.url}${path}`)).text();
    // A look takes about 20 ms at most, so on a busy machine a pass ends at a later scrape.
    const expectCount = async (count: number): Promise<void> => {
      const line = `countersign_approvals_without_approvers ${String(count)}\n`;
      let metrics = '';
      for (let scrapes = 0; scrapes < 20 && !metrics.includes(line); scrapes += 1) metrics = await text('/metrics');
      expect(metrics).toContain(line);
    };
    await expectCount(1);
    const note = expect.stringContaining('too few approvers are left for 1 pending approval, first apr_') as unknown;
    expect(JSON.parse(await text('/readyz'))).toMatchObject({ checks: { 'approvers-left': { status: 'ok', note } } });
    tokens.replace(without('owen'));
    expect(await read('alice')).not.toHaveProperty('noApproverLeft');
    await expectCount(0);
  });
});
