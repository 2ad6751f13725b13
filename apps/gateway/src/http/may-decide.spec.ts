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
  ...tokenEntries,
  ...[person('alice', 'support'), person('sam', 'security'), person('owen', 'support')],
  { token: 'owned-token', principal: 'owned', roles: ['agent'], agentIds: ['*'], owner: 'owen' },
  { token: 'looks-token', principal: 'looks', roles: ['auditor'] },
];

type MayDecide = NonNullable<ApprovalView['mayDecide']>;

let world: World;
let api: Api;

beforeEach(async () => {
  const tokens = createChangingTokens(entries);
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
