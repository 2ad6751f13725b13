import { afterEach, beforeEach, expect, it } from '@jest/globals';
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
  - { id: wire, then: { require: { quorum: { approve: 2, deny: 2, of: [support] } } } }
`;
const person = (principal: string, token = `${principal}-token`): TokenEntry => ({
  ...{ token, principal, roles: ['approver'], groups: ['support'] },
});
const shop = (token: string): TokenEntry => ({
  ...{ token, principal: 'shop', roles: ['front-end'], people: { groups: ['support'] } },
});
const others = tokenEntries.filter(({ roles }) => !roles.includes('front-end') && !roles.includes('approver'));
const bob = person('bob');
const stolen = [...others, person('alice', 'stolen-token'), bob, shop('shop-token')];

let world: World;
let api: Api;
let tokens: ReturnType<typeof createChangingTokens>;

beforeEach(async () => {
  tokens = createChangingTokens(stolen);
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

type Seen = ApprovalView & { readonly code?: string };

const asked = async (): Promise<string> => {
  const body = { runId: 'run-1', calls: [{ toolCallId: 'a', toolName: 'wire', arguments: {} }] };
  const { body: step } = await api.send<{ calls: { approval: ApprovalView }[] }>('POST', '/v1/tool-calls', {
    ...{ as: 'agent', body },
  });
  return `/v1/approvals/${step.calls[0]?.approval.approvalId ?? ''}`;
};
const send = async (method: 'GET' | 'POST', path: string, as: string, type?: string, headers = {}): Promise<Seen> =>
  (await api.send<Seen>(method, path, { as, headers, ...(type !== undefined && { body: { decision: { type } } }) }))
    .body;

it.each(['approve', 'deny'])(
  '%s with a token that was replaced no longer counts, and its person may vote again',
  async (type) => {
    const path = await asked();
    const first = await send('POST', `${path}/responses`, 'stolen', type);
    expect(first).toMatchObject({ state: 'pending', responses: [{ respondedBy: 'alice', counted: true }] });
    tokens.replace([...others, person('alice'), bob]);
    const seen = await send('GET', path, 'alice');
    expect(seen).toMatchObject({ mayDecide: { now: true }, responses: [{ respondedBy: 'alice', counted: false }] });
    expect(seen.progress[0]).toMatchObject({ approvedBy: [], deniedBy: [], missing: 2 });
    const second = await send('POST', `${path}/responses`, 'bob', type);
    expect(second).toMatchObject({ state: 'pending', responses: [{ counted: false }, { counted: true }] });
    const third = await send('POST', `${path}/responses`, 'alice', type);
    expect(third).toMatchObject({ state: type === 'approve' ? 'approved' : 'denied' });
  },
);

it('an instruction is not shown once its vote no longer counts, and a response to either card counts', async () => {
  const path = await asked();
  const tell = (as: string, body: object) => api.send<Seen>('POST', `${path}/responses`, { as, body });
  const approve = { decision: { type: 'approve' } };
  await tell('stolen', { ...approve, instruction: 'stolen words' });
  const before = await send('GET', path, 'bob');
  expect(before.instructions).toMatchObject([{ instruction: 'stolen words' }]);
  tokens.replace([...others, person('alice'), bob]);
  const seen = await send('GET', path, 'bob');
  expect(seen).toMatchObject({ instructions: [], responses: [{ counted: false }] });
  expect((await api.send('GET', `${path}/card`, { as: 'bob' })).body).toMatchObject({ shownDigest: seen.shownDigest });
  expect(seen.shownDigest).not.toBe(before.shownDigest);
  const onOldCard = { ...approve, shownDigest: before.shownDigest };
  expect((await tell('bob', onOldCard)).body).toMatchObject({ state: 'pending' });
  expect((await tell('alice', onOldCard)).body).toMatchObject({ code: 'digest-mismatch' });
  const { shownDigest } = seen;
  expect((await tell('alice', { ...approve, shownDigest })).body).toMatchObject({ state: 'approved' });
});

it('the votes through a front end end with its token', async () => {
  const path = await asked();
  const kim = { 'countersign-person': 'kim', 'countersign-person-groups': 'support' };
  const first = await send('POST', `${path}/responses`, 'shop', 'approve', kim);
  expect(first).toMatchObject({ state: 'pending', responses: [{ respondedBy: 'shop#kim', counted: true }] });
  tokens.replace([...others, bob, shop('new-token')]);
  expect(await send('GET', path, 'bob')).toMatchObject({ responses: [{ counted: false }] });
  expect(await send('POST', `${path}/responses`, 'bob', 'approve')).toMatchObject({ state: 'pending' });
  expect(await send('POST', `${path}/responses`, 'new', 'approve', kim)).toMatchObject({ state: 'approved' });
});

it('a vote counts as long as its own token is valid, also when its person gets or loses other tokens', async () => {
  const path = await asked();
  await send('POST', `${path}/responses`, 'stolen', 'approve');
  tokens.replace([...stolen, person('alice')]);
  expect(await send('GET', path, 'bob')).toMatchObject({ responses: [{ counted: true }] });
  expect(await send('POST', `${path}/responses`, 'bob', 'approve')).toMatchObject({ state: 'approved' });
});
