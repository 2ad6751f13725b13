import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readablePart, toolCallStream } from '@countersign/contracts';
import type { ApprovalView, ToolCallView } from '@countersign/contracts';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { createPeople } from '../people.js';
import { createApi } from '../testing/api.js';
import type { Api, Sent } from '../testing/api.js';
import { createChangingTokens } from '../testing/changing-tokens.js';
import { openWorld, tokenEntries } from '../testing/world.js';
import type { World } from '../testing/world.js';

interface Card {
  readonly approvalId: string;
  readonly state: string;
  readonly shownDigest: string;
  readonly proposalDigest: string;
  readonly actionDigest: string;
  readonly mayDecide: { readonly now: boolean };
  readonly card: object;
  readonly presses: readonly { readonly value: string; readonly decision: string; readonly request: object }[];
  readonly passOn: string;
}

const tokens = createChangingTokens([
  ...tokenEntries,
  { token: 'desk-agent-token', principal: 'support-desk', roles: ['agent'] },
]);
const content = loadPolicy(
  'policy.yaml',
  'version: 1\nrules:\n  - { id: two, match: { tools: [two_people] }, then: { require: { quorum: { approve: 2 } } } }\n' +
    '  - { id: noes, match: { tools: [two_noes] }, then: { require: { quorum: { approve: 1, deny: 2 } } } }\n' +
    '  - { id: step, match: { tools: [wire] }, then: { require: { batch: any-asks-all } } }\n',
);

let world: World;
let api: Api;
beforeAll(async () => {
  const people = createPeople({ tokens: () => tokens, channels: undefined, issuer: null });
  world = await openWorld({
    policies: createPolicies([content]),
    change: (ports) => ({ ...ports, tokens, commands: { ...ports.commands, people } }),
  });
  api = createApi(world);
});
afterAll(() => world.close());

const kim = { as: 'desk', headers: { 'countersign-person': 'kim' } };
const cardOf = (approvalId: string, format: string, sent: Sent = kim) =>
  api.send<Card & { code?: string }>('GET', `/v1/approvals/${approvalId}/card?format=${format}`, sent);
const respond = (approvalId: string, body: unknown, sent: Sent = kim) =>
  api.send<ApprovalView & { code?: string }>('POST', `/v1/approvals/${approvalId}/responses`, { ...sent, body });
let runs = 0;
const asked = async (as = 'desk-agent', toolName = 'delete_file'): Promise<ApprovalView> => {
  const call = { toolCallId: 'a', toolName, arguments: { path: '/x', password: 'hunter2' }, needsApproval: true };
  const body = { runId: `card-${String((runs += 1))}`, calls: [call] };
  const { body: answer } = await api.send<{ calls: ToolCallView[] }>('POST', '/v1/tool-calls', { as, body });
  return answer.calls[0]?.approval as ApprovalView;
};

describe('a card for a bot of an application', () => {
  it.each(['telegram', 'slack', 'teams', 'text'])(
    'as %s: a press is passed on, and the log has what was shown',
    async (format) => {
      const { approvalId, callId } = await asked();
      const { status, body } = await cardOf(approvalId, format);
      expect(status).toBe(200);
      expect(body).toMatchObject({ approvalId, format, state: 'pending', mayDecide: { now: true } });
      expect(JSON.stringify(body.card)).toContain('delete_file');
      expect(JSON.stringify(body)).not.toContain('hunter2');
      expect(body.passOn).toContain('/responses');
      const press = body.presses.find(({ decision }) => decision === 'approve');
      expect(await respond(approvalId, press?.request)).toMatchObject({ status: 200, body: { state: 'approved' } });
      const { events } = readablePart(await world.store.readStream(toolCallStream(callId)));
      expect(events.find(({ type }) => type === 'ApprovalResponded')?.data).toMatchObject({
        ...{
          respondedBy: 'support-desk#kim',
          vouchedBy: 'support-desk',
          via: 'support-desk',
          shown: body.proposalDigest,
        },
      });
      expect((await cardOf(approvalId, format)).body).toMatchObject({ state: 'approved', presses: [] });
    },
  );

  it('decides nothing any more once its proposal was edited, or an instruction was added', async () => {
    const { approvalId } = await asked('desk-agent', 'two_people');
    const press = async () => (await cardOf(approvalId, 'telegram')).body.presses[0]?.request;
    const first = await press();
    await respond(approvalId, { decision: { type: 'edit', arguments: { path: '/y' } } }, { as: 'ann' });
    expect(await respond(approvalId, first)).toMatchObject({ status: 409, body: { code: 'digest-mismatch' } });
    const second = await press();
    const told = { decision: { type: 'approve' }, instruction: 'then tell me' };
    expect((await respond(approvalId, told, { ...kim, headers: { 'countersign-person': 'lee' } })).body.state).toBe(
      'approved',
    );
    expect((await respond(approvalId, second)).body.code).toBe('already-resolved');
  });

  it('is for one call of a step that a rule asks about as a whole, and one response to all of them decides, as the guide says', async () => {
    const calls = ['read', 'wire'].map((toolName) => ({ toolCallId: toolName, toolName, arguments: {} }));
    const body = { runId: 'card-of-step', calls };
    const requested = await api.send<{ calls: ToolCallView[] }>('POST', '/v1/tool-calls', { as: 'desk-agent', body });
    const views = requested.body.calls.map(({ approval }) => approval as ApprovalView);
    expect(views.map(({ requirement, batch }) => [requirement.batch, batch?.callIds])).toEqual(
      views.map(() => ['any-asks-all', requested.body.calls.map(({ callId }) => callId)]),
    );
    const cards = await Promise.all(views.map(async ({ approvalId }) => (await cardOf(approvalId, 'telegram')).body));
    expect(cards.map(({ presses }) => presses.map(({ decision }) => decision))).toEqual(
      cards.map(() => ['approve', 'deny']),
    );
    const sent = {
      ...{ approvalIds: cards.map(({ approvalId }) => approvalId), decision: { type: 'approve' } },
      ...{ mode: 'all-or-nothing' },
      shownDigests: Object.fromEntries(cards.map(({ approvalId, shownDigest }) => [approvalId, shownDigest])),
    };
    const answered = await api.send<{ results: { status: string }[] }>('POST', '/v1/approvals/responses', {
      ...kim,
      body: sent,
    });
    expect(answered.body.results.map(({ status }) => status)).toEqual(['done', 'done']);
    const { body: run } = await api.send<{ calls: ToolCallView[] }>('GET', '/v1/runs/card-of-step', {
      as: 'desk-agent',
    });
    expect(run.calls.map(({ state }) => state)).toEqual(['approved', 'approved']);
  });

  it('decides nothing when its press comes again after its person took the response back', async () => {
    const { approvalId } = await asked('desk-agent', 'two_people');
    const press = (await cardOf(approvalId, 'telegram')).body.presses[0]?.request;
    expect((await respond(approvalId, press)).status).toBe(200);
    await api.send('DELETE', `/v1/approvals/${approvalId}/responses/mine`, kim);
    expect(await respond(approvalId, press)).toMatchObject({ status: 409, body: { code: 'digest-mismatch' } });
    expect((await respond(approvalId, (await cardOf(approvalId, 'telegram')).body.presses[0]?.request)).status).toBe(
      200,
    );
  });

  it('denies though others have told the agent something or withdrawn since, and only what it shows', async () => {
    const { approvalId } = await asked('desk-agent', 'two_people');
    const lee = { 'countersign-person': 'lee' };
    const denial = async () =>
      (await cardOf(approvalId, 'telegram')).body.presses.find(({ decision }) => decision === 'deny')?.request;
    const answer = (body: object) => respond(approvalId, body, { ...kim, headers: lee });
    let keys = 0;
    const withdraw = () => {
      const headers = { ...lee, 'idempotency-key': `withdrawal-${String((keys += 1))}` };
      return api.send('DELETE', `/v1/approvals/${approvalId}/responses/mine`, { ...kim, headers });
    };
    const first = await denial();
    await answer({ decision: { type: 'edit', arguments: { path: '/y' } } });
    expect((await respond(approvalId, first)).body.code).toBe('digest-mismatch');
    const ofEdit = await denial();
    await withdraw();
    expect((await respond(approvalId, ofEdit)).body.code).toBe('digest-mismatch');
    const last = await denial();
    await answer({ decision: { type: 'approve' } });
    await withdraw();
    await answer({ decision: { type: 'approve' }, instruction: 'then tell me' });
    expect(await respond(approvalId, last)).toMatchObject({ status: 200, body: { state: 'denied' } });
  });

  it('brings back no denial that its person took back, where the press has the key of its update', async () => {
    const { approvalId } = await asked('desk-agent', 'two_noes');
    const press = (await cardOf(approvalId, 'telegram')).body.presses.find(({ decision }) => decision === 'deny');
    const passedOn = { ...kim, headers: { ...kim.headers, 'idempotency-key': 'telegram-1' } };
    expect((await respond(approvalId, press?.request, passedOn)).body.state).toBe('pending');
    await api.send('DELETE', `/v1/approvals/${approvalId}/responses/mine`, kim);
    expect(await respond(approvalId, press?.request, passedOn)).toMatchObject({
      ...{ status: 409, body: { code: 'idempotency-key-reused' } },
    });
  });

  it('decides though another person has voted for the same since', async () => {
    const { approvalId } = await asked('desk-agent', 'two_people');
    const press = (await cardOf(approvalId, 'telegram')).body.presses[0]?.request;
    await respond(approvalId, press, { ...kim, headers: { 'countersign-person': 'lee' } });
    expect((await respond(approvalId, press)).body.state).toBe('approved');
  });

  it('hides values from the agent of the call too, and shows nothing of others to a front end without a person', async () => {
    const own = await asked();
    const card = await cardOf(own.approvalId, 'text', { as: 'desk' });
    expect(card).toMatchObject({ status: 200, body: { mayDecide: { now: false } } });
    expect(JSON.stringify(card.body)).not.toContain('hunter2');
    const foreign = await asked('agent');
    expect((await cardOf(foreign.approvalId, 'text', { as: 'desk' })).body.code).toBe('unknown-approval');
    expect((await cardOf(foreign.approvalId, 'text', { as: 'agent' })).status).toBe(403);
    expect((await cardOf(foreign.approvalId, 'text', { as: 'ann' })).status).toBe(200);
    expect((await cardOf('apr_nobody', 'text')).status).toBe(404);
    for (const format of ['html', 'telegram&format=text'])
      expect((await cardOf(foreign.approvalId, format)).status).toBe(400);
  });
});
