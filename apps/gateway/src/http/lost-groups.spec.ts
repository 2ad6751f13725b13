import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createWriteSide } from '@countersign/commands';
import type { ApprovalView } from '@countersign/contracts';
import { createLivePolicies, loadPolicy } from '@countersign/policy';
import type { LivePolicies } from '@countersign/policy';
import { createHistory } from '@countersign/shell';
import { createPeople } from '../people.js';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld, tokenEntries } from '../testing/world.js';
import type { World } from '../testing/world.js';
import { createTokens } from '../tokens.js';

const issuer = new URL('https://id.example/');
const eve = `${issuer.href}#eve`;
const delegates = 'delegates: [{ to: bob, from: 2020-01-01T00:00:00Z, until: 2100-01-01T00:00:00Z }]';
const policyOf = (groups: string) =>
  loadPolicy(
    'countersign.policy.yaml',
    `version: 1
approvers:
  - { id: "support-desk#kim", groups: ${groups} }
  - { id: "support-desk#lee", groups: ${groups}, ${delegates} }
  - { id: bob }
  - { id: "${eve}", groups: ${groups} }
rules: [{ id: wire, then: { require: { quorum: { approve: 2, of: [ops] } } } }]`,
  );
const tokens = createTokens([...tokenEntries, { token: 'eve-token', principal: eve, roles: ['approver'] }]);

let world: World;
let api: Api;
let policies: LivePolicies;
beforeEach(async () => {
  policies = createLivePolicies(policyOf('[ops]'));
  world = await openWorld({
    change: (ports) => ({
      ...ports,
      tokens,
      commands: createWriteSide({
        ...{ store: ports.store, ids: ports.ids, log: ports.log, tools: ports.commands.tools, policies },
        people: createPeople({ tokens: () => tokens, channels: undefined, issuer }),
        history: createHistory(ports.readModel),
      }),
    }),
  });
  api = createApi(world);
});
afterEach(() => world.close());

const asked = async (): Promise<string> => {
  const body = { runId: 'run-1', calls: [{ toolCallId: 'a', toolName: 'wire', arguments: {} }] };
  const { body: step } = await api.send<{ calls: { approval: ApprovalView }[] }>('POST', '/v1/tool-calls', {
    ...{ as: 'agent', body },
  });
  return `/v1/approvals/${step.calls[0]?.approval.approvalId ?? ''}`;
};
const approve = async (path: string, as: string, headers = {}): Promise<ApprovalView> =>
  (
    await api.send<ApprovalView>('POST', `${path}/responses`, {
      ...{ as, headers, body: { decision: { type: 'approve' } } },
    })
  ).body;
const desk = (id: string, groups?: string) => ({
  'countersign-person': id,
  ...(groups !== undefined && { 'countersign-person-groups': groups }),
});

it.each([
  ['a person of a front end', 'desk', desk('kim')],
  ['a delegate of a person of a front end', 'bob', {}],
  ['a person of a sign-in provider who is away', 'eve', {}],
])('a vote ends with the group that the policy file alone gave: %s', async (_, as, headers) => {
  const path = await asked();
  const first = await approve(path, as, headers);
  expect(first).toMatchObject({ state: 'pending', responses: [{ counted: true }] });
  policies.activate(policyOf('[]'));
  const read = (await api.send<ApprovalView>('GET', path, { as: 'ann' })).body;
  expect(read).toMatchObject({ responses: [{ counted: false }] });
  expect(await approve(path, 'ann')).toMatchObject({ state: 'pending' });
});

it('a vote keeps the group that its front end gave as well, when the policy file takes it away', async () => {
  const path = await asked();
  await approve(path, 'desk', desk('kim', 'ops'));
  policies.activate(policyOf('[]'));
  expect(await approve(path, 'ann')).toMatchObject({ state: 'approved' });
});
