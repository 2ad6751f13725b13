import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { createWorker } from '@countersign/worker-sdk';
import { MappingError } from '@countersign/worker-sdk/mappings';
import type {
  FunctionApprovalResponseContent,
  UserInteractionProcessed,
  UserInteractionRequested,
} from '@countersign/worker-sdk/mappings';
import {
  answerTo,
  askAbout,
  clientOf,
  countRows,
  dropTable,
  type Turn,
} from '../../libs/worker-sdk/examples/function-approvals.js';
import { createToolApprovals } from '../../libs/worker-sdk/examples/user-interactions.js';
import { cleanUpAfterAll, onCleanup, temporaryFolder } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import { eventually } from './harness/wait.js';

cleanUpAfterAll();

const token = (name: string): string => `${name}-token-of-this-spec`;
const tokens = [
  { token: token('agent'), principal: 'agent', roles: ['agent'] },
  { token: token('worker'), principal: 'worker', roles: ['resolver'] },
  { token: token('me'), principal: 'me', roles: ['approver'] },
  { token: token('desk'), principal: 'desk', roles: ['front-end'], people: { groups: ['ops'] } },
];

const policy = `
version: 1
approvers:
  - { id: me, groups: [ops] }
rules:
  - id: two
    when: 'args.table == "two"'
    then: { require: { quorum: { approve: 2, deny: 1, of: [ops] } } }
  - id: why
    when: 'args.table == "why"'
    then: { require: { quorum: { approve: 1, deny: 1 }, requireReason: [deny] } }
`;

let url: string;
beforeAll(async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'data'));
  writeFileSync(join(folder, 'data', 'tokens.json'), JSON.stringify(tokens), { mode: 0o600 });
  writeFileSync(join(folder, 'policy.yaml'), policy);
  url = `http://127.0.0.1:${String((await install({ COUNTERSIGN_POLICY: join(folder, 'policy.yaml') }, folder)).port)}`;
});

function setUp() {
  const tools = [dropTable, countRows];
  const front = { url, token: token('desk') };
  const worker = createWorker({ url, token: token('agent'), resolverToken: token('worker'), agentId: 'agent', tools });
  onCleanup(() => worker.close(0));
  return {
    lee: clientOf({ id: 'lee', groups: ['ops'] }, front),
    user: clientOf({ id: 'kim@example.com', groups: ['ops'], name: 'Kim' }, front),
    worker,
  };
}

/** Takes back the answer of kim, as the inbox does. */
async function withdraw(approvalId: string): Promise<void> {
  const headers = { authorization: `Bearer ${token('desk')}`, 'countersign-person': 'kim%40example.com' };
  const { status } = await fetch(`${url}/v1/approvals/${approvalId}/responses/mine`, { method: 'DELETE', headers });
  expect(status).toBe(200);
}

const callOf = (callId: string, name: string, table: string) =>
  ({ type: 'function_call', callId, name, arguments: JSON.stringify({ table }) }) as const;

/** The responses of the user, as they come back through a chat. */
function responsesTo({ contents }: Turn, answers: readonly boolean[]): FunctionApprovalResponseContent[] {
  const requests = contents.filter((content) => content.type === 'function_approval_request');
  const responses = answers.flatMap((approved, index) => {
    const { id, functionCall } = requests[index] ?? {};
    return [{ type: 'function_approval_response', id, functionCall, approved }];
  });
  return JSON.parse(JSON.stringify(responses)) as FunctionApprovalResponseContent[];
}

test('contents of a chat ask about every call of the step, and each is decided alone', async () => {
  const { user, worker } = setUp();
  const free = await askAbout(worker, 'free', [callOf('a', 'count_rows', 'x')]);
  expect(free.contents).toEqual([{ type: 'function_result', callId: 'a', result: { table: 'x', rows: 3 } }]);
  const first = await askAbout(worker, 'chat', [callOf('a', 'drop_table', 'x'), callOf('b', 'count_rows', 'y')]);
  expect(first.contents.map(({ type }) => type)).toEqual(['function_approval_request', 'function_approval_request']);
  const [no, yes] = responsesTo(first, [false, true]);
  const half = await answerTo(worker, user, first.state, [no!]);
  const denied = { callId: 'a', result: expect.stringMatching(/rejected by user.*desk#kim@example\.com/) };
  expect(half.contents).toMatchObject([denied, { type: 'function_approval_request', functionCall: { callId: 'b' } }]);
  const whole = await answerTo(worker, user, half.state, [no!, yes!]);
  expect(whole.contents).toMatchObject([denied, { callId: 'b', result: { table: 'y', rows: 3 } }]);
});

test('a response with the call of the model in place of the one that asked decides nothing', async () => {
  const { user, worker } = setUp();
  const functionCall = callOf('a', 'drop_table', 'x');
  const turn = await askAbout(worker, 'bare', [functionCall]);
  const [response] = responsesTo(turn, [true]);
  await expect(answerTo(worker, user, turn.state, [{ ...response!, functionCall }])).rejects.toThrow(MappingError);
  expect((await user.getApproval(response!.id)).state).toBe('pending');
});

test('an answer whose person withdrew it does not count again when its message is read again', async () => {
  const { user, worker } = setUp();
  const first = await askAbout(worker, 'withdrawn', [callOf('two', 'drop_table', 'two')]);
  const history = responsesTo(first, [true]);
  const id = history[0]!.id;
  const approvedBy = async () => (await user.getApproval(id)).progress.map((stage) => stage.approvedBy);
  await answerTo(worker, user, first.state, history);
  expect(await approvedBy()).toEqual([['desk#kim@example.com']]);
  await withdraw(id);
  const again = await answerTo(worker, user, first.state, history);
  expect(await approvedBy()).toEqual([[]]);
  // The question of the next turn is another one: its answer is deliberate.
  await answerTo(worker, user, again.state, [...history, ...responsesTo(again, [true])]);
  expect(await approvedBy()).toEqual([['desk#kim@example.com']]);
});

test('an answer to an older question, or without the reason that the rule requires, loses no other answer', async () => {
  const { lee, user, worker } = setUp();
  const calls = ['two', 'why', 'c'].map((callId) => callOf(callId, 'drop_table', callId));
  const first = await askAbout(worker, 'stale', calls);
  const answers = responsesTo(first, [true, false, true]);
  const { proposal, shownDigest } = await lee.getApproval(answers[0]!.id);
  const decision = { type: 'edit', arguments: { table: 'all' } } as const;
  await lee.respond(answers[0]!.id, { decision, proposalDigest: proposal.digest, shownDigest });
  const turn = await answerTo(worker, user, first.state, answers);
  expect(turn.contents).toMatchObject([
    { type: 'function_result', callId: 'c', result: { dropped: 'c' } },
    { type: 'function_approval_request', functionCall: { callId: 'two', arguments: { table: 'all' } } },
    { functionCall: { callId: 'why', additionalProperties: { requireReason: ['deny'] } } },
  ]);
  expect(turn.refused).toMatchObject([{ id: answers[1]!.id, error: { code: 'reason-required' } }]);
  const withReason = responsesTo(turn, [true, false]).slice(1);
  const why = [{ ...withReason[0]!, additionalProperties: { reason: 'too late' } }];
  const last = await answerTo(worker, user, turn.state, why);
  expect(last.contents).toContainEqual(
    expect.objectContaining({ callId: 'why', result: expect.stringContaining('too late') }),
  );
});

test('events of a workflow engine ask about one call after another, with edits and instructions', async () => {
  const { user, worker } = setUp();
  const events: (UserInteractionRequested | UserInteractionProcessed)[] = [];
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
  const events: (UserInteractionRequested | UserInteractionProcessed)[] = [];
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
