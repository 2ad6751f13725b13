import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApprovalView, ToolCallView } from '@countersign/contracts';
import type { CommandPorts } from '@countersign/commands';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { createPeople } from '../people.js';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { createChangingTokens } from '../testing/changing-tokens.js';
import { openWorld, tokenEntries } from '../testing/world.js';
import type { World } from '../testing/world.js';
import type { TokenEntry } from '../tokens.js';

const policy = loadPolicy(
  'policy.yaml',
  'version: 1\napprovers: [{ id: kim, identities: { frontEnds: ["support-desk#k1"] } }]\nrules:\n' +
    '  - { id: two, match: { tools: [twice] }, then: { require: { batch: any-asks-all, quorum: { approve: 2 } } } }\n' +
    '  - { id: step, match: { tools: [pay, wire] }, then: { require: { batch: any-asks-all } } }\n',
);
const tokens = createChangingTokens([
  ...tokenEntries,
  ...['alice', 'kim'].map((principal): TokenEntry => ({
    ...{ token: `${principal}-token`, principal, roles: ['approver'], groups: [] },
  })),
]);

let world: World;
let api: Api;
/** How many streams of calls were looked at. */
let looks = 0;
beforeAll(async () => {
  const people = createPeople({ tokens: () => tokens, channels: undefined, issuer: null });
  world = await openWorld({
    policies: createPolicies([policy]),
    change: (ports) => ({
      ...ports,
      tokens,
      commands: { ...ports.commands, people, handler: counted(ports.commands.handler) },
    }),
  });
  api = createApi(world);
});
afterAll(() => world.close());

const counted = (handler: CommandPorts['handler']): CommandPorts['handler'] => ({
  ...handler,
  look: (stream) => {
    looks += 1;
    return handler.look(stream);
  },
});
type Reply = ApprovalView & { readonly code?: string; readonly detail?: string };
const read = async (approvalId: string, as = 'kim') =>
  (await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as })).body;
const respond = async (approvalId: string, as: string, body: object) => {
  const { body: answer } = await api.send<Reply>('POST', `/v1/approvals/${approvalId}/responses`, { as, body });
  return answer;
};
const approve = { decision: { type: 'approve' } };
const edit = (args: object) => ({ decision: { type: 'edit', arguments: args } });
let runs = 0;
/** The questions about a step, as kim reads them. */
const step = async (...tools: readonly string[]): Promise<readonly [ApprovalView, ApprovalView, ...ApprovalView[]]> => {
  const calls = tools.map((toolName, index) => ({
    ...{ toolCallId: `c${String(index)}`, toolName, arguments: { n: index, password: 'hunter2' } },
  }));
  const body = { runId: `others-${String((runs += 1))}`, calls };
  const { body: asked } = await api.send<{ calls: ToolCallView[] }>('POST', '/v1/tool-calls', { as: 'agent', body });
  const all = await Promise.all(asked.calls.map(({ approval }) => read(approval?.approvalId ?? '')));
  return all as [ApprovalView, ApprovalView, ...ApprovalView[]];
};
const boundTo = ({ shownDigest, shownOthersDigest }: ApprovalView) => ({ shownDigest, shownOthersDigest });
const inBulk = async (as: string, body: object) =>
  (
    await api.send<{ results: { status: string; problem?: { code: string } }[] }>('POST', '/v1/approvals/responses', {
      ...{ as, body },
    })
  ).body.results.map(({ status, problem }) => problem?.code ?? status);

describe('an approval of a call that runs together with others', () => {
  it('is refused when another call was edited after the person looked, and counts once they have seen it', async () => {
    const [pay, wire] = await step('pay', 'wire');
    expect(await respond(wire.approvalId, 'alice', edit({ n: 99 }))).toMatchObject({ state: 'approved' });
    const refused = await respond(pay.approvalId, 'kim', { ...approve, ...boundTo(pay) });
    expect(refused).toMatchObject({ code: 'digest-mismatch' });
    expect(refused.detail).toMatch(/^Another call of the step has changed/);
    const now = await read(pay.approvalId);
    expect(refused.shownOthersDigest).toBe(now.shownOthersDigest);
    expect(now).toMatchObject({ state: 'pending', shownDigest: pay.shownDigest });
    expect(await respond(pay.approvalId, 'kim', { ...approve, ...boundTo(now) })).toMatchObject({ state: 'approved' });
  });

  it('is refused as an edit and as an answer too, and by the press of an older card', async () => {
    const [pay, wire] = await step('pay', 'wire');
    const { body: card } = await api.send<{ presses: { decision: string; request: Record<string, unknown> }[] }>(
      ...(['GET', `/v1/approvals/${pay.approvalId}/card?format=telegram`, { as: 'kim' }] as const),
    );
    const requests = Object.fromEntries(card.presses.map(({ decision, request }) => [decision, request]));
    expect(requests['approve']).toMatchObject({ shownOthersDigest: pay.shownOthersDigest });
    expect(requests['deny']).not.toHaveProperty('shownOthersDigest');
    await respond(wire.approvalId, 'alice', { decision: { type: 'answer', output: 'done by hand' } });
    for (const body of [
      requests['approve'] ?? {},
      { ...edit({ n: 1 }), ...boundTo(pay) },
      { decision: { type: 'answer', output: 'x' }, ...boundTo(pay) },
    ]) {
      expect(await respond(pay.approvalId, 'kim', body)).toMatchObject({ code: 'digest-mismatch' });
    }
  });

  it('is not refused for a vote of another person, nor for a change of one’s own', async () => {
    const [pay, wire] = await step('pay', 'wire');
    await respond(wire.approvalId, 'kim', edit({ n: 3 }));
    expect(await respond(pay.approvalId, 'kim', { ...approve, ...boundTo(pay) })).toMatchObject({ state: 'approved' });
    const [one, other] = await step('pay', 'wire');
    await respond(other.approvalId, 'alice', approve);
    expect(await respond(one.approvalId, 'kim', { ...approve, ...boundTo(one) })).toMatchObject({ state: 'approved' });
  });

  it('is refused for a change in another name of the person, whom a front end says it is, or in another spelling', async () => {
    const atDesk = (id: string) => ({
      ...{ as: 'desk', headers: { 'countersign-person': id, 'countersign-person-groups': 'ops' } },
    });
    const changes = async (id: string, { approvalId }: ApprovalView, body: object = edit({ n: 666 })) =>
      (await api.send<Reply>('POST', `/v1/approvals/${approvalId}/responses`, { ...atDesk(id), body })).body;
    const [first, second] = await step('twice', 'twice');
    await changes('k1', second);
    expect(await respond(first.approvalId, 'kim', { ...approve, ...boundTo(first) })).toMatchObject({
      code: 'digest-mismatch',
    });
    const [one, other] = await step('twice', 'twice');
    await changes('LEE', other);
    const yes = { ...approve, ...boundTo(one) };
    expect(await changes('lee', one, yes)).toMatchObject({ code: 'digest-mismatch' });
    expect(await changes('LEE', one, yes)).toMatchObject({ state: 'pending' });
  });

  it.each([
    ['edits', edit({ n: 7 })],
    ['an edit and an answer', { decision: { type: 'answer', output: 'by hand' } }],
  ])('is refused to one of two people who change two calls of a step at one moment: %s', async (_, change) => {
    for (let times = 0; times < 3; times += 1) {
      const [pay, wire] = await step('pay', 'wire');
      const answers = await Promise.all([
        respond(pay.approvalId, 'kim', { ...edit({ n: 5 }), ...boundTo(pay) }),
        respond(wire.approvalId, 'alice', { ...change, ...boundTo(wire) }),
      ]);
      expect(answers.filter(({ code }) => code === 'digest-mismatch')).toHaveLength(1);
    }
  });

  it('counts without the digest, as an older client sends it', async () => {
    const [pay, wire] = await step('pay', 'wire');
    await respond(wire.approvalId, 'alice', edit({ n: 99 }));
    expect(await respond(pay.approvalId, 'kim', approve)).toMatchObject({ state: 'approved' });
  });

  it('does not bind a denial', async () => {
    const [pay, wire] = await step('pay', 'wire');
    await respond(wire.approvalId, 'alice', edit({ n: 99 }));
    const denial = { decision: { type: 'deny' }, shownOthersDigest: pay.shownOthersDigest };
    expect(await respond(pay.approvalId, 'kim', denial)).toMatchObject({ state: 'denied' });
  });

  it('is the second vote of a quorum only for those calls that its person saw', async () => {
    const [first, second] = await step('twice', 'twice');
    await respond(first.approvalId, 'alice', { ...approve, ...boundTo(first) });
    await respond(second.approvalId, 'alice', edit({ n: 99 }));
    expect(await respond(first.approvalId, 'kim', { ...approve, ...boundTo(first) })).toMatchObject({
      code: 'digest-mismatch',
    });
  });

  it('is given in bulk to all or to none', async () => {
    const questions = await step('pay', 'wire');
    const byId = (of: (one: ApprovalView) => string | undefined) =>
      Object.fromEntries(questions.map((one) => [one.approvalId, of(one)]));
    const body = {
      ...{ approvalIds: questions.map(({ approvalId }) => approvalId), mode: 'all-or-nothing' },
      shownOthersDigests: byId(({ shownOthersDigest }) => shownOthersDigest),
    };
    await respond(questions[1].approvalId, 'alice', edit({ n: 99 }));
    const stale = await inBulk('kim', { ...body, ...approve });
    expect(stale).toEqual(['digest-mismatch', 'already-resolved']);
    const [one, other] = await step('pay', 'wire');
    const fresh = {
      ...{ ...body, approvalIds: [one.approvalId, other.approvalId] },
      shownOthersDigests: Object.fromEntries([one, other].map((of) => [of.approvalId, of.shownOthersDigest])),
    };
    expect(await inBulk('kim', { ...fresh, ...edit({ n: 5 }) })).toEqual(['done', 'done']);
  });

  it('looks at each call of the step once for a bulk yes', async () => {
    const questions = await step(...Array.from({ length: 8 }, () => 'pay'));
    const byId = (of: (one: ApprovalView) => string | undefined) =>
      Object.fromEntries(questions.map((one) => [one.approvalId, of(one)]));
    looks = 0;
    const body = { ...approve, shownOthersDigests: byId(({ shownOthersDigest }) => shownOthersDigest) };
    const approvalIds = questions.map(({ approvalId }) => approvalId);
    expect(await inBulk('kim', { ...body, approvalIds })).toEqual(questions.map(() => 'done'));
    expect(looks).toBe(questions.length);
  });

  it('has a digest that tells no hidden value: equal steps have others', async () => {
    const [[one], [other]] = [await step('pay', 'wire'), await step('pay', 'wire')];
    expect(one.shownOthersDigest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(other.shownOthersDigest).not.toBe(one.shownOthersDigest);
  });

  it('has none where the call is decided alone', async () => {
    const body = { runId: 'others-alone', calls: [{ toolCallId: 'a', toolName: 'pay', arguments: {} }] };
    const { body: asked } = await api.send<{ calls: ToolCallView[] }>('POST', '/v1/tool-calls', { as: 'agent', body });
    expect(asked.calls[0]?.approval).not.toHaveProperty('shownOthersDigest');
  });
});
