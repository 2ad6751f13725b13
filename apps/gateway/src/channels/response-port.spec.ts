import { answerWords } from '@countersign/channels';
import type { ChannelAnswer } from '@countersign/channels';
import { alice } from '@countersign/channels/testing';
import { deliveryStream, parseApprovalId, toolCallStream } from '@countersign/contracts';
import type { ApprovalView, ToolCallView } from '@countersign/contracts';
import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';
import { createSessions } from '../inbox/sessions.js';
import { createSessionStore } from '../sqlite/session-store.js';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { createTestPolicies } from '../testing/policies.js';
import { openWorld, tokenEntries } from '../testing/world.js';
import { createTokens } from '../tokens.js';
import type { World } from '../testing/world.js';
import { createResponsePort } from './response-port.js';
import { createIsApprover } from './approvers.js';

let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld({ policies: createTestPolicies() });
  api = createApi(world);
});
afterAll(() => world.close());

const secret = 'hunter2-canary';
const withAlice = (roles: readonly ('approver' | 'auditor')[]) =>
  createTokens([...tokenEntries, { token: 'alice-token', principal: 'alice', roles: [...roles] }]);
const pending = async (call: Readonly<Record<string, unknown>> = {}) => {
  const { approvalId } = await api.pending({ arguments: { path: '/x', password: secret }, ...call });
  const responses = createResponsePort({ ...world, isApprover: createIsApprover({ tokens: withAlice(['approver']) }) });
  const approval = (await responses.find(approvalId))?.approval;
  const answer: ChannelAnswer = {
    ...{ approvalId, shownDigest: approval?.shownDigest ?? '', person: alice, channelId: 'ops-slack' },
    ...{ assurance: 'medium', commandId: approvalId, credential: 'slack:T01:U01' },
    decision: { type: 'approve' },
  };
  return { responses, approvalId, approval, answer };
};

it('shows a question as the store has it, masked', async () => {
  const { responses, approvalId, approval } = await pending();
  expect(approval).toMatchObject({ state: 'pending', arguments: { path: '/x' } });
  expect(JSON.stringify(await responses.find(approvalId))).not.toContain(secret);
});

it('knows which copies of its cards a channel has sent', async () => {
  const { responses, approvalId } = await pending();
  const stream = deliveryStream({ approvalId, callId: '' });
  const message = {
    approvalId,
    kind: 'requested',
    nth: 0,
    recipient: null,
    shows: 's',
    deliveredAt: '2030-01-01T00:00:00.000Z',
  };
  const metadata = { commandId: 'c', schemaVersion: 1, tenant: 'default', callId: null, runId: null };
  const copies = [
    ['ops', '-1:1'],
    ['ops', null],
    ['others', '-2:2'],
  ].map(([channelId, messageRef]) => ({
    ...{ eventId: world.ports.ids.uuid(), type: 'NotificationDelivered', metadata },
    data: { ...message, channelId, messageRef },
  }));
  await world.store.append(stream, -1, copies as never);
  expect(await responses.copies?.(approvalId, 'ops')).toEqual(['-1:1']);
  expect(await responses.copies?.(approvalId, 'mail')).toEqual([]);
  expect(await responses.copies?.('apr_nobody', 'ops')).toEqual([]);
});

it('knows nothing of other tenants, and of what never was', async () => {
  const { responses, approvalId } = await pending();
  const call = { toolCallId: 'call-1', toolName: 'delete_file', arguments: {}, needsApproval: true };
  const body = { runId: 'run-1', calls: [call] };
  type Requested = { readonly calls: readonly { readonly approval: { readonly approvalId: string } }[] };
  const { body: others } = await api.send<Requested>('POST', '/v1/tool-calls', { as: 'other', body });
  const other = others.calls[0]?.approval.approvalId ?? '';
  expect(other).toMatch(/^apr_/);
  for (const id of [other, 'apr_nobody', approvalId.replace(/_1$/, '_2')])
    expect(await responses.find(id)).toBeUndefined();
});

it('refuses a press on a card from before an instruction, and takes one on the card that shows it', async () => {
  const { responses, approvalId, answer } = await pending({ toolName: 'two_people' });
  const body = { decision: { type: 'approve' }, instruction: 'then verify the backup' };
  expect((await api.send('POST', `/v1/approvals/${approvalId}/responses`, { as: 'ann', body })).status).toBe(200);
  expect(await responses.answer(answer)).toMatchObject({ status: 'refused', code: 'digest-mismatch' });
  const shown = (await responses.find(approvalId))?.approval;
  expect(shown?.instructions).toEqual([{ respondedBy: 'ann', instruction: 'then verify the backup' }]);
  const current = { ...answer, commandId: 'again', shownDigest: shown?.shownDigest ?? '' };
  expect(await responses.answer(current)).toEqual({ status: 'recorded' });
});

it('takes a denial bound to the proposal though an instruction came in between, and none of another proposal', async () => {
  const { responses, approvalId, approval, answer } = await pending({ toolName: 'two_people' });
  const body = { decision: { type: 'approve' }, instruction: 'then verify the backup' };
  expect((await api.send('POST', `/v1/approvals/${approvalId}/responses`, { as: 'ann', body })).status).toBe(200);
  const deny = { ...answer, decision: { type: 'deny' } } as const;
  const another = { ...deny, commandId: 'another', proposalDigest: `sha256:${'0'.repeat(64)}` };
  expect(await responses.answer(another)).toMatchObject({ status: 'refused', code: 'digest-mismatch' });
  expect(await responses.answer({ ...deny, proposalDigest: approval?.proposal.digest ?? '' })).toMatchObject({
    status: 'recorded',
  });
});

it('tells the person what became of a press, and where they withdraw', async () => {
  const { responses, approval, approvalId, answer } = await pending({ toolName: 'two_people' });
  const person = { ...alice, id: 'ann' };
  const words = async (more: Partial<ChannelAnswer>) =>
    answerWords(await responses.answer({ ...answer, person, ...more }), '');
  expect(await words({})).toBe('Recorded: it waits for others.');
  expect(await words({ commandId: 'no', decision: { type: 'deny' } })).toMatch(/Answers are withdrawn in the inbox\.$/);
  const withdrawn = `/v1/approvals/${approvalId}/responses/mine`;
  expect((await api.send('DELETE', withdrawn, { as: 'ann' })).status).toBe(200);
  expect(await words({})).toBe('This press was used before, and its answer does not stand: press again to answer.');
  const { callId } = approval ?? {};
  await api.send('POST', `/v1/tool-calls/${String(callId)}/cancel`, { as: 'agent', body: { reason: 'x' } });
  expect(await words({ commandId: 'late' })).toBe('The tool call was cancelled. Nothing is left to answer.');
});

it('shows no instruction of a person who was removed since, and takes a press on a card that still shows it', async () => {
  const { responses, approvalId } = await pending({ toolName: 'two_people' });
  const body = { decision: { type: 'approve' }, instruction: 'send it to all' };
  expect((await api.send('POST', `/v1/approvals/${approvalId}/responses`, { as: 'ann', body })).status).toBe(200);
  const before = (await responses.find(approvalId))?.approval;
  expect(before?.instructions).toHaveLength(1);
  const without = {
    approver: (_: string, principal: string) => (principal === 'ann' ? undefined : { groups: [], isAway: false }),
    ...{ approvers: () => [], names: () => [] },
  };
  const commands = { ...world.commands, people: without };
  const isApprover = createIsApprover({ tokens: withAlice(['approver']) });
  const now = createResponsePort({ ...world, commands, isApprover });
  const shown = (await now.find(approvalId))?.approval;
  expect(shown).toMatchObject({ instructions: [], responses: [{ respondedBy: 'ann', counted: false }] });
  const press = { person: alice, channelId: 'ops-slack', assurance: 'medium', credential: 'slack:T01:U01' } as const;
  const approve = { ...press, approvalId, decision: { type: 'approve' } } as const;
  const old = { ...approve, commandId: 'old', shownDigest: before?.shownDigest ?? '' };
  expect(await now.answer(old)).toEqual({ status: 'recorded', isWaiting: true });
});

it('refuses a press on a card that showed the request, once a person has answered in its place', async () => {
  const { responses, approvalId, answer } = await pending({ toolName: 'two_people' });
  const body = { decision: { type: 'answer', output: 'done by hand' } };
  expect((await api.send('POST', `/v1/approvals/${approvalId}/responses`, { as: 'ann', body })).status).toBe(200);
  expect(await responses.answer(answer)).toMatchObject({ status: 'refused', code: 'digest-mismatch' });
});

it('records an answer in the name of the person and the channel, once however often it comes', async () => {
  const { responses, approvalId, answer } = await pending();
  for (let n = 0; n < 2; n += 1) expect(await responses.answer(answer)).toEqual({ status: 'recorded' });
  const given = (await responses.find(approvalId))?.approval?.responses;
  expect(given).toMatchObject([{ respondedBy: 'alice', via: 'ops-slack', decision: { type: 'approve' } }]);
  const recorded = await world.store.readStream(toolCallStream(parseApprovalId(approvalId)?.callId ?? ''));
  expect(recorded.at(-1)).toMatchObject({ data: { credential: 'slack:T01:U01', roles: ['approver'] } });
});

it('tells a late one who was first', async () => {
  const { responses, approvalId, answer } = await pending();
  await api.send('POST', `/v1/approvals/${approvalId}/responses`, { as: 'bob', body: { decision: { type: 'deny' } } });
  expect(await responses.answer(answer)).toMatchObject({
    status: 'refused',
    winner: { respondedBy: 'bob', via: 'api', resolution: 'denied' },
  });
});

it('refuses a person who is no longer an approver, and says so at the start', async () => {
  const { approvalId, answer } = await pending();
  let tokens = withAlice(['approver']);
  const sources = { tokens: { grants: (...asked: Parameters<typeof tokens.grants>) => tokens.grants(...asked) } };
  const log = createCollectingLog();
  const isApprover = createIsApprover(sources, { people: [alice], log });
  const responses = createResponsePort({ ...world, isApprover });
  expect(log.entries).toEqual([]);
  for (const left of [withAlice(['auditor']), createTokens(tokenEntries)]) {
    tokens = left;
    expect(await responses.answer(answer)).toMatchObject({ status: 'refused', code: 'forbidden' });
  }
  expect((await responses.find(approvalId))?.approval?.responses).toEqual([]);
  createIsApprover(sources, { people: [alice], log });
  expect(log.entries).toMatchObject([{ level: 'warn', fields: { people: ['alice'] } }]);
});

it('accepts an answer from an approver by sign-in, until the sign-in ends or a later one lacks the role', async () => {
  const { answer } = await pending();
  const clock = createVirtualClock();
  const store = createSessionStore(':memory:');
  const sessions = createSessions({ store, tokens: createTokens(tokenEntries), clock, ids: world.ports.ids });
  const isApprover = createIsApprover({ tokens: createTokens(tokenEntries), sessions });
  const principal = 'https://id.example#alice';
  const person = { tenant: 'default', principal, groups: [] };
  sessions.openFor({ ...person, tenant: 'other', roles: ['approver'] });
  expect(isApprover(principal)).toBe(false);
  sessions.openFor({ ...person, roles: ['approver'] });
  expect(
    await createResponsePort({ ...world, isApprover }).answer({ ...answer, person: { ...alice, id: principal } }),
  ).toEqual({ status: 'recorded' });
  clock.advance(1_000);
  sessions.openFor({ ...person, roles: ['auditor'] });
  expect(isApprover(principal)).toBe(false);
  clock.advance(1_000);
  sessions.openFor({ ...person, roles: ['approver'] });
  expect(isApprover(principal)).toBe(true);
  clock.advance(12 * 3_600_000);
  expect(isApprover(principal)).toBe(false);
});

it('takes no edit whose arguments have more than 256 KiB', async () => {
  const { responses, approvalId, answer } = await pending();
  const argumentsText = JSON.stringify({ blob: 'x'.repeat(256 * 1024) });
  const result = await responses.answer({ ...answer, decision: { type: 'edit', argumentsText } });
  expect(result).toMatchObject({ status: 'refused', code: 'payload-too-large' });
  expect((await responses.find(approvalId))?.approval?.responses).toEqual([]);
});

it('takes no edit where no policy can judge it, and any other answer', async () => {
  const { approvalId, answer } = await pending();
  const responses = createResponsePort({ ...world, isApprover: () => true, edits: 'refused' });
  const edit = { type: 'edit', argumentsText: '{"path":"/y"}' } as const;
  expect(await responses.answer({ ...answer, decision: edit })).toMatchObject({ code: 'decision-not-allowed' });
  expect((await responses.find(approvalId))?.approval?.responses).toEqual([]);
  expect(await responses.answer(answer)).toEqual({ status: 'recorded' });
});

it.each(['', 'no JSON', '[]', '"text"', '{"a":1,"a":2}'])('takes no edit that is no JSON object: %s', async (text) => {
  const { responses, approvalId, answer } = await pending();
  const result = await responses.answer({ ...answer, decision: { type: 'edit', argumentsText: text } });
  expect(result).toMatchObject({ status: 'refused', code: 'invalid-request' });
  expect((await responses.find(approvalId))?.approval?.responses).toEqual([]);
});

describe('a question about a whole step', () => {
  let step = 0;
  const asked = async (tools: readonly [string, string] = ['read_file', 'whole_step']) => {
    step += 1;
    const named = (toolName: string, path: string) => ({ toolCallId: `call-${path}`, toolName, arguments: { path } });
    const calls = [named(tools[0], '/x'), named(tools[1], '/y')];
    type Requested = { readonly calls: readonly ToolCallView[] };
    const body = { runId: `whole-step-${String(step)}`, calls };
    const requested = await api.send<Requested>('POST', '/v1/tool-calls', { body });
    const [first, second] = requested.body.calls;
    const responses = createResponsePort({ ...world, isApprover: () => true });
    const approvalId = first?.approval?.approvalId ?? '';
    const question = await responses.find(approvalId);
    const answer: ChannelAnswer = {
      ...{ approvalId, shownDigest: question?.approval?.shownDigest ?? '', person: alice, channelId: 'ops-slack' },
      ...{ assurance: 'medium', commandId: approvalId, credential: 'slack:T01:U01' },
      decision: { type: 'approve' },
    };
    const states = () =>
      Promise.all(
        [first, second].map(async (call) => {
          const path = `/v1/tool-calls/${call?.callId ?? ''}`;
          return (await api.send<ToolCallView>('GET', path)).body.state;
        }),
      );
    return { responses, question, answer, states, other: second?.approval?.approvalId ?? '' };
  };

  it('shows all calls of it, and one press approves all', async () => {
    const { responses, question, answer, states } = await asked();
    expect(question?.together?.map(({ approval }) => [approval.toolName, approval.arguments])).toEqual([
      ['whole_step', { path: '/y' }],
    ]);
    expect(await states()).toEqual(['awaiting_approval', 'awaiting_approval']);
    for (let n = 0; n < 2; n += 1) expect(await responses.answer(answer)).toEqual({ status: 'recorded' });
    expect(await states()).toEqual(['approved', 'approved']);
  });

  it('takes a yes for those calls on which the vote of its person is missing, and says when none is', async () => {
    const { responses, answer, states, other } = await asked(['whole_pair', 'whole_pair']);
    const press = async (id: string, commandId: string, approvalId = answer.approvalId) => {
      const shownDigest = (await responses.find(approvalId))?.approval?.shownDigest ?? '';
      return responses.answer({ ...answer, approvalId, shownDigest, commandId, person: { ...alice, id } });
    };
    const recorded = { status: 'recorded', isWaiting: true };
    expect(await press('alice', 'alice-1')).toEqual(recorded);
    expect(await press('alice', 'alice-1')).toEqual(recorded);
    expect(await press('alice', 'alice-2')).toMatchObject({ status: 'refused', code: 'already-voted' });
    const edit = { decision: { type: 'edit', arguments: { path: '/z' } } };
    expect((await api.send('POST', `/v1/approvals/${other}/responses`, { as: 'ann', body: edit })).status).toBe(200);
    expect(await press('ann', 'ann-1')).toEqual(recorded);
    expect((await responses.find(answer.approvalId))?.approval?.state).toBe('approved');
    expect(await press('alice', 'alice-3', other)).toEqual({ status: 'recorded' });
    expect(await states()).toEqual(['approved', 'approved']);
  });

  it('is denied as a whole by one press', async () => {
    const { responses, answer, states } = await asked();
    expect(await responses.answer({ ...answer, decision: { type: 'deny' } })).toEqual({ status: 'recorded' });
    expect(await states()).toEqual(['denied', 'cancelled']);
  });

  it('takes no press that was not shown every call, nor one from before another call changed', async () => {
    const { responses, question, answer, states, other } = await asked();
    const ownDigest = (await api.send<ApprovalView>('GET', `/v1/approvals/${answer.approvalId}`, { as: 'ann' })).body;
    const own = { ...answer, shownDigest: ownDigest.shownDigest };
    expect(own.shownDigest).not.toBe(question?.approval?.shownDigest);
    expect(await responses.answer(own)).toMatchObject({ status: 'refused', code: 'digest-mismatch' });
    const edit = { decision: { type: 'edit', arguments: { path: '/z' } } };
    expect((await api.send('POST', `/v1/approvals/${other}/responses`, { as: 'ann', body: edit })).status).toBe(200);
    expect(await responses.answer(answer)).toMatchObject({ status: 'refused' });
    expect((await states())[0]).toBe('awaiting_approval');
  });
});
