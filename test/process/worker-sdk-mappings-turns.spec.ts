import { beforeAll, expect, test } from '@jest/globals';
import { gateTool } from '@countersign/worker-sdk';
import { MappingError, StaleResponseError } from '@countersign/worker-sdk/mappings';
import { z } from 'zod';
import { answerTo, askAbout } from '../../libs/worker-sdk/examples/function-approvals.js';
import { createToolApprovals } from '../../libs/worker-sdk/examples/user-interactions.js';
import { cleanUpAfterAll } from './harness/cleanup.js';
import { eventually } from './harness/wait.js';
import { callOf, deliveryOf, messageOf, openDesk, responsesOf, sessionOf } from './worker-sdk/desk.js';
import type { Desk, InteractionEvent } from './worker-sdk/desk.js';

cleanUpAfterAll();

let desk: Desk;
beforeAll(async () => {
  desk = await openDesk(undefined, [
    gateTool({ name: 'ask_browser', inputSchema: z.strictObject({ table: z.string() }), clientExecuted: true }),
  ]);
});

const setUp = () => ({ lee: desk.person('lee'), user: desk.person('kim'), worker: desk.worker() });

/** Approves a call in the inbox. */
async function approve(user: ReturnType<Desk['person']>, approvalId: string): Promise<string> {
  const { proposal, shownDigest } = await user.getApproval(approvalId);
  const { callId } = await user.respond(approvalId, {
    decision: { type: 'approve' },
    proposalDigest: proposal.digest,
    shownDigest,
  });
  return callId;
}

test('a turn ends while another process holds an approved call, and names the call', async () => {
  const { lee, user, worker } = setUp();
  const calls = ['held', 'mine'].map((table) => callOf(table, 'drop_table', table));
  const first = await askAbout(worker, user, 'held elsewhere', calls);
  const [held, mine] = responsesOf(first, [true, false]);
  await desk.claim(await approve(lee, held!.id));
  const turn = await answerTo(worker, sessionOf(user), first.state, messageOf('kim', [mine!]), { timeoutMs: 500 });
  expect(turn.refused).toEqual([]);
  expect(turn.waiting).toEqual([{ callId: 'held', state: 'executing' }]);
  expect(turn.contents).toMatchObject([{ callId: 'mine', result: expect.stringMatching(/rejected by user/) }]);
});

test('a turn hands on the calls that the user’s own client runs, and has their results later', async () => {
  const { user, worker } = setUp();
  const first = await askAbout(worker, user, 'in the browser', [callOf('where', 'ask_browser', 'here')]);
  expect(first).toMatchObject({ contents: [], waiting: [] });
  const asked = { toolCallId: 'where', toolName: 'ask_browser', arguments: { table: 'here' } };
  expect(first.clientCalls).toMatchObject([asked]);
  await worker.submitOutput(first.clientCalls[0]!.callId, { at: 'home' });
  const last = await answerTo(worker, sessionOf(user), first.state, messageOf('kim', []));
  expect(last).toMatchObject({ clientCalls: [], contents: [{ callId: 'where', result: { at: 'home' } }] });
});

test('a turn has the result of a call that another window ran while the turn was made', async () => {
  const { lee, user, worker } = setUp();
  const calls = ['mine', 'other'].map((table) => callOf(table, 'drop_table', table));
  const first = await askAbout(worker, user, 'two windows', calls);
  const other = desk.worker();
  let reads = 0;
  const getRun: typeof worker.client.getRun = async (...given) => {
    reads += 1;
    if (reads === 1) await other.resume(first.state);
    return worker.client.getRun(...given);
  };
  const [asked, no] = responsesOf(first, [true, false]);
  // Another process approves and runs it between the two looks of this turn.
  const late = {
    ...worker,
    client: { ...worker.client, getRun },
    resume: async (...given: Parameters<typeof worker.resume>) => {
      const outcome = await worker.resume(...given);
      await approve(lee, asked!.id);
      return outcome;
    },
  };
  const turn = await answerTo(late, sessionOf(user), first.state, messageOf('kim', [no!]), { timeoutMs: 500 });
  expect(reads).toBe(1);
  expect(turn.waiting).toEqual([]);
  expect(turn.contents).toMatchObject([{ callId: 'mine', result: { dropped: 'mine' } }, { callId: 'other' }]);
});

test('a turn under a stop ends at once and says which stop keeps what was approved from running', async () => {
  const { lee, user, worker } = setUp();
  const calls = ['stopped', 'mine'].map((table) => callOf(table, 'drop_table', table));
  const first = await askAbout(worker, user, 'under a stop', calls);
  const [stopped, mine] = responsesOf(first, [true, false]);
  await approve(lee, stopped!.id);
  const lift = await desk.stop('the agents pay twice');
  const message = messageOf('kim', [mine!]);
  const startedAt = Date.now();
  const turn = await answerTo(worker, sessionOf(user), first.state, message);
  expect(Date.now() - startedAt).toBeLessThan(5000);
  expect(turn.refused).toEqual([]);
  expect(turn.waiting).toEqual([{ callId: 'stopped', state: 'approved' }]);
  expect(turn.stopDetail).toMatch(/^admin stopped all calls .*: the agents pay twice/);
  expect(turn.contents).toMatchObject([{ callId: 'mine', result: expect.stringMatching(/rejected by user/) }]);
  await lift();
  const last = await answerTo(worker, sessionOf(user), turn.state, messageOf('kim', []));
  expect(last).toMatchObject({ stopDetail: null, waiting: [] });
  expect(last.contents).toMatchObject([{ callId: 'stopped', result: { dropped: 'stopped' } }, { callId: 'mine' }]);
});

test('an answer that stands is no refusal when its message comes again, and another one is', async () => {
  const { user: low, lee, worker } = setUp();
  const first = await askAbout(worker, low, 'again', [
    callOf('y', 'drop_table', 'two'),
    callOf('n', 'drop_table', 'four n'),
  ]);
  const [yes, no] = responsesOf(first, [true, false]);
  const message = messageOf('kim', [yes!, no!]);
  expect((await answerTo(worker, sessionOf(low), first.state, message)).refused).toEqual([]);
  // Another proposal, of which her "no" is still the answer.
  const { proposal, shownDigest } = await lee.getApproval(no!.id);
  const decision = { type: 'edit', arguments: { table: 'four m' } } as const;
  await lee.respond(no!.id, { decision, proposalDigest: proposal.digest, shownDigest });
  const proven = sessionOf(desk.person('kim', 'proven'), 'second');
  expect((await answerTo(worker, proven, first.state, message)).refused).toEqual([]);
  expect(await desk.approvedBy(yes!.id)).toEqual(['desk#kim']);
  const otherwise = messageOf(
    'kim',
    [
      { ...yes!, approved: false },
      { ...no!, approved: true },
    ],
    'second',
  );
  expect((await answerTo(worker, proven, first.state, otherwise)).refused).toMatchObject([
    { error: { code: 'already-voted' } },
    { error: { name: 'StaleResponseError' } },
  ]);
  // Attack: it is equal to the answer of another person.
  const passed = await answerTo(worker, sessionOf(desk.person('mo')), first.state, message);
  expect(passed.refused.map(({ error }) => error.name)).toEqual(['OtherPersonError', 'OtherPersonError']);
  await desk.withdraw(yes!.id);
  const last = await answerTo(worker, proven, first.state, messageOf('kim', [yes!]));
  expect(last.refused).toMatchObject([{ error: { name: 'OtherSignInError' } }]);
});

test('a "no" to a call that another person has edited is no refusal where a later "no" of the message ends the step', async () => {
  const { user, lee, worker } = setUp();
  const calls = ['step', 'y', 'z'].map((table) => callOf(table, 'drop_table', table));
  const first = await askAbout(worker, user, 'edited before the no', calls);
  const message = messageOf('kim', responsesOf(first, [false, false, false]));
  const { proposal, shownDigest } = await lee.getApproval(message.contents[0]!.id);
  const decision = { type: 'edit', arguments: { table: 'all' } } as const;
  await lee.respond(message.contents[0]!.id, { decision, proposalDigest: proposal.digest, shownDigest });
  const alone = { ...message, contents: message.contents.slice(0, 1) };
  expect((await answerTo(worker, sessionOf(user), first.state, alone, { timeoutMs: 500 })).refused).toHaveLength(1);
  const turn = await answerTo(worker, sessionOf(user), first.state, message);
  expect(turn.refused).toEqual([]);
  expect(turn.contents).toMatchObject(calls.map(({ callId }) => ({ type: 'function_result', callId })));
});

test('an event that the bus delivers again after its edit ran, or after its instruction, is no refusal', async () => {
  const { user } = setUp();
  const events: InteractionEvent[] = [];
  const open = () => createToolApprovals(desk.worker(), sessionOf(user), 'flow', (event) => void events.push(event));
  const approvals = open();
  const toolCalls = ['x', 'y'].map((table) => ({ toolCallId: table, toolName: 'drop_table', arguments: { table } }));
  const done = approvals.execute('node', { runId: 'delivered again', toolCalls });
  for (const [table, change] of [
    ['x', { editedParameters: { table: 'z' } }],
    ['y', { userInstruction: 'then call' }],
  ] as const) {
    const asked = await eventually('the question', () =>
      events
        .filter((event) => event.type === 'USER_INTERACTION_REQUESTED')
        .find(({ metadata }) => metadata.toolApproval.toolParameters['table'] === table),
    );
    const { interactionId, metadata } = asked;
    const yes = { interactionId, inputData: { ...metadata.toolApproval, approved: true, ...change } };
    await approvals.respond(yes, deliveryOf('kim'));
    for (const window of [approvals, open()]) await window.respond(yes, deliveryOf('kim'));
    const otherwise = { ...yes, inputData: { ...yes.inputData, userInstruction: 'do not call' } };
    await expect(approvals.respond(otherwise, deliveryOf('kim'))).rejects.toThrow(StaleResponseError);
  }
  expect(await done).toMatchObject([
    { output: { dropped: 'z' } },
    { output: { dropped: 'y' }, instruction: 'then call' },
  ]);
  await expect(approvals.respond({ interactionId: '' } as never, deliveryOf('kim'))).rejects.toThrow(MappingError);
  const empty = { interactionId: events[0]!.interactionId } as never;
  await expect(approvals.respond(empty, deliveryOf('kim'))).rejects.toThrow(/has no `inputData`/);
});

test('a question says whether its person may decide', async () => {
  const { user, worker } = setUp();
  const first = await askAbout(worker, user, 'may decide', [
    callOf('a', 'drop_table', 'assured'),
    callOf('b', 'drop_table', 'b'),
  ]);
  expect(first.contents).toMatchObject([
    { functionCall: { additionalProperties: { mayDecide: { now: false, why: 'not-an-approver' } } } },
    { functionCall: { additionalProperties: { mayDecide: { now: true } } } },
  ]);
});
