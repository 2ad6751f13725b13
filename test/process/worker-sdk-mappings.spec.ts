import { beforeAll, expect, test } from '@jest/globals';
import { MappingError } from '@countersign/worker-sdk/mappings';
import type {
  FunctionApprovalResponseContent,
  UserInteractionProcessed,
  UserInteractionRequested,
} from '@countersign/worker-sdk/mappings';
import {
  answerTo,
  askAbout,
  countRows,
  dropTable,
  type Turn,
} from '../../libs/worker-sdk/examples/function-approvals.js';
import { createToolApprovals } from '../../libs/worker-sdk/examples/user-interactions.js';
import { cleanUpAfterAll } from './harness/cleanup.js';
import { eventually } from './harness/wait.js';
import { startWorld, type World } from './worker-sdk/setup.js';

cleanUpAfterAll();

let world: World;
beforeAll(async () => {
  world = await startWorld();
});

function setUp() {
  const { me, workerOf } = world;
  return { me, worker: workerOf([dropTable, countRows]) };
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
  const { me, worker } = setUp();
  const free = await askAbout(worker, 'free', [callOf('a', 'count_rows', 'x')]);
  expect(free.contents).toEqual([{ type: 'function_result', callId: 'a', result: { table: 'x', rows: 3 } }]);
  const first = await askAbout(worker, 'chat', [callOf('a', 'drop_table', 'x'), callOf('b', 'count_rows', 'y')]);
  expect(first.contents.map(({ type }) => type)).toEqual(['function_approval_request', 'function_approval_request']);
  const [no, yes] = responsesTo(first, [false, true]);
  const half = await answerTo(worker, me, first.state, [no!]);
  const denied = { callId: 'a', result: expect.stringContaining('Tool call invocation was rejected by user.') };
  expect(half.contents).toMatchObject([denied, { type: 'function_approval_request', functionCall: { callId: 'b' } }]);
  const whole = await answerTo(worker, me, half.state, [no!, yes!]);
  expect(whole.contents).toMatchObject([denied, { callId: 'b', result: { table: 'y', rows: 3 } }]);
});

test('a response with the call of the model in place of the one that asked decides nothing', async () => {
  const { me, worker } = setUp();
  const functionCall = callOf('a', 'drop_table', 'x');
  const turn = await askAbout(worker, 'bare', [functionCall]);
  const [response] = responsesTo(turn, [true]);
  await expect(answerTo(worker, me, turn.state, [{ ...response!, functionCall }])).rejects.toThrow(MappingError);
  expect((await me.getApproval(response!.id)).state).toBe('pending');
});

test('events of a workflow engine ask about one call after another, with edits and instructions', async () => {
  const { me, worker } = setUp();
  const events: (UserInteractionRequested | UserInteractionProcessed)[] = [];
  const approvals = createToolApprovals(worker, me, 'flow', (event) => void events.push(event));
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
