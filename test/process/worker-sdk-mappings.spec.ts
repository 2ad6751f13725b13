import { beforeAll, expect, test } from '@jest/globals';
import { MappingError } from '@countersign/worker-sdk/mappings';
import { answerTo, askAbout } from '../../libs/worker-sdk/examples/function-approvals.js';
import { createToolApprovals } from '../../libs/worker-sdk/examples/user-interactions.js';
import { cleanUpAfterAll } from './harness/cleanup.js';
import { eventually } from './harness/wait.js';
import { callOf, openDesk, responsesOf } from './worker-sdk/desk.js';
import type { Desk, InteractionEvent } from './worker-sdk/desk.js';

cleanUpAfterAll();

let desk: Desk;
beforeAll(async () => {
  desk = await openDesk();
});

const setUp = () => ({ lee: desk.person('lee'), user: desk.person('kim'), worker: desk.worker() });

test('contents of a chat ask about every call of the step, and each is decided alone', async () => {
  const { user, worker } = setUp();
  const free = await askAbout(worker, user, 'free', [callOf('a', 'count_rows', 'x')]);
  expect(free.contents).toEqual([{ type: 'function_result', callId: 'a', result: { table: 'x', rows: 3 } }]);
  const first = await askAbout(worker, user, 'chat', [callOf('a', 'drop_table', 'x'), callOf('b', 'count_rows', 'y')]);
  expect(first.contents.map(({ type }) => type)).toEqual(['function_approval_request', 'function_approval_request']);
  const [no, yes] = responsesOf(first, [false, true]);
  const half = await answerTo(worker, user, first.state, [no!]);
  const denied = { callId: 'a', result: expect.stringMatching(/rejected by user.*desk#kim/) };
  expect(half.contents).toMatchObject([denied, { type: 'function_approval_request', functionCall: { callId: 'b' } }]);
  const whole = await answerTo(worker, user, half.state, [no!, yes!]);
  expect(whole.contents).toMatchObject([denied, { callId: 'b', result: { table: 'y', rows: 3 } }]);
});

test('a response with the call of the model in place of the one that asked decides nothing', async () => {
  const { user, worker } = setUp();
  const functionCall = callOf('a', 'drop_table', 'x');
  const turn = await askAbout(worker, user, 'bare', [functionCall]);
  const [response] = responsesOf(turn, [true]);
  const { refused } = await answerTo(worker, user, turn.state, [{ ...response!, functionCall }]);
  expect(refused).toMatchObject([{ response: { id: response!.id }, error: expect.any(MappingError) }]);
  expect((await user.getApproval(response!.id)).state).toBe('pending');
});

test('an answer whose person withdrew it does not count again when its message is read again', async () => {
  const { user, worker } = setUp();
  const first = await askAbout(worker, user, 'withdrawn', [callOf('two', 'drop_table', 'two')]);
  const history = responsesOf(first, [true]);
  const id = history[0]!.id;
  await answerTo(worker, user, first.state, history);
  expect(await desk.approvedBy(id)).toEqual(['desk#kim']);
  await desk.withdraw(id);
  const again = await answerTo(worker, user, first.state, history);
  expect(await desk.approvedBy(id)).toEqual([]);
  // The question of the next turn is another one: its answer is deliberate.
  await answerTo(worker, user, again.state, [...history, ...responsesOf(again, [true])]);
  expect(await desk.approvedBy(id)).toEqual(['desk#kim']);
});

test('an answer to an older question, or without the reason that the rule requires, loses no other answer', async () => {
  const { lee, user, worker } = setUp();
  const calls = ['two', 'why', 'c'].map((callId) => callOf(callId, 'drop_table', callId));
  const first = await askAbout(worker, user, 'stale', calls);
  const answers = responsesOf(first, [true, false, true]);
  const { proposal, shownDigest } = await lee.getApproval(answers[0]!.id);
  const decision = { type: 'edit', arguments: { table: 'all' } } as const;
  await lee.respond(answers[0]!.id, { decision, proposalDigest: proposal.digest, shownDigest });
  const turn = await answerTo(worker, user, first.state, answers);
  expect(turn.contents).toMatchObject([
    { type: 'function_result', callId: 'c', result: { dropped: 'c' } },
    { type: 'function_approval_request', functionCall: { callId: 'two', arguments: { table: 'all' } } },
    { functionCall: { callId: 'why', additionalProperties: { requireReason: ['deny'] } } },
  ]);
  expect(turn.refused).toMatchObject([
    { response: { id: answers[0]!.id }, error: { name: 'StaleResponseError' } },
    { response: { id: answers[1]!.id }, error: { code: 'reason-required' } },
  ]);
  const withReason = responsesOf(turn, [true, false]).slice(1);
  const why = [{ ...withReason[0]!, additionalProperties: { reason: 'too late' } }];
  const last = await answerTo(worker, user, turn.state, why);
  expect(last.contents).toContainEqual(
    expect.objectContaining({ callId: 'why', result: expect.stringContaining('too late') }),
  );
});

test('events of a workflow engine ask about one call after another, with edits and instructions', async () => {
  const { user, worker } = setUp();
  const events: InteractionEvent[] = [];
  const approvals = createToolApprovals(worker, user, 'flow', (event) => void events.push(event));
  const toolCalls = ['x', 'y'].map((table) => ({ toolCallId: table, toolName: 'drop_table', arguments: { table } }));
  const done = approvals.execute('node', { runId: 'thread', toolCalls });
  const askedAbout = (table: string) =>
    eventually(`the question about ${table}`, () =>
      events
        .filter((event) => event.type === 'USER_INTERACTION_REQUESTED')
        .find(({ metadata }) => metadata.toolApproval.toolParameters['table'] === table),
    );
  const first = await askedAbout('x');
  const { interactionId, metadata } = first;
  await approvals.respond({ interactionId, inputData: { ...metadata.toolApproval, userInstruction: 'leave it' } });
  const second = await askedAbout('y');
  const inputData = { ...second.metadata.toolApproval, approved: true, editedParameters: { table: 'z' } };
  await approvals.respond({ interactionId: second.interactionId, inputData });
  expect(await done).toMatchObject([
    { status: 'denied', instruction: 'leave it' },
    { status: 'succeeded', edited: true, output: { dropped: 'z' } },
  ]);
  expect(events.map(({ type }) => type.replace('USER_INTERACTION_', ''))).toEqual([
    ...['REQUESTED', 'PROCESSED', 'REQUESTED', 'PROCESSED'],
  ]);
});

test('the event that closes a dialog says what was decided by whom, also when another person decided', async () => {
  const { lee, user, worker } = setUp();
  const events: InteractionEvent[] = [];
  const approvals = createToolApprovals(worker, user, 'flow', (event) => void events.push(event));
  const toolCalls = [{ toolCallId: 'a', toolName: 'drop_table', arguments: { table: 'two' } }];
  const done = approvals.execute('node', { runId: 'quorum', toolCalls });
  const asked = await eventually('the question', () =>
    events.find((event) => event.type === 'USER_INTERACTION_REQUESTED'),
  );
  const { interactionId, metadata } = asked;
  const inputData = { ...metadata.toolApproval, approved: true };
  await expect(approvals.respond({ interactionId: 'apr_1/other', inputData })).rejects.toThrow(MappingError);
  await approvals.respond({ interactionId, inputData });
  expect(events).toHaveLength(1);
  const { approvalId, proposalDigest, shownDigest } = metadata;
  await lee.respond(approvalId, { decision: { type: 'deny' }, proposalDigest, shownDigest });
  expect(await done).toMatchObject([{ status: 'denied' }]);
  await approvals.respond({ interactionId, inputData });
  expect(events.slice(1)).toMatchObject([
    { interactionId, results: { approved: false }, metadata: { outcome: 'denied', decidedBy: ['desk#lee'] } },
  ]);
});
