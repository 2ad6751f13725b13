import { beforeAll, expect, test } from '@jest/globals';
import {
  MappingError,
  OtherPersonError,
  promptsOf,
  releasedBy,
  responsesTo,
  StaleResponseError,
} from '@countersign/worker-sdk/mappings';
import type { UserInteractionResponded } from '@countersign/worker-sdk/mappings';
import fc from 'fast-check';
import { answerTo, askAbout, type Turn } from '../../libs/worker-sdk/examples/function-approvals.js';
import { createToolApprovals } from '../../libs/worker-sdk/examples/user-interactions.js';
import { cleanUpAfterAll } from './harness/cleanup.js';
import { eventually } from './harness/wait.js';
import { callOf, deliveryOf, messageOf, openDesk, responsesOf, sent, sessionOf } from './worker-sdk/desk.js';
import type { Desk, InteractionEvent } from './worker-sdk/desk.js';
import { acts, play } from './worker-sdk/message-histories.js';

cleanUpAfterAll();

let desk: Desk;
beforeAll(async () => {
  desk = await openDesk();
});

const codesOf = ({ refused }: Turn) => refused.map(({ error }) => ('code' in error ? error.code : error.name));
const requestsOf = ({ contents }: Turn) => contents.filter((content) => content.type === 'function_approval_request');

test('the answer of one person in a shared chat is no vote of another one, whose own answer counts', async () => {
  const [worker, kim, mo] = [desk.worker(), desk.person('kim'), desk.person('mo')];
  const first = await askAbout(worker, kim, 'shared', [callOf('a', 'drop_table', 'two')]);
  const history = responsesOf(first, [true]);
  const ofKim = await answerTo(worker, sessionOf(kim), first.state, messageOf('kim', history));
  const ofMo = await answerTo(worker, sessionOf(mo), ofKim.state, messageOf('mo', history));
  expect(codesOf(ofMo)).toEqual(['OtherPersonError']);
  expect(await desk.approvedBy(history[0]!.id)).toEqual(['desk#kim']);
  const last = await answerTo(
    worker,
    sessionOf(mo),
    ofMo.state,
    messageOf('mo', [...history, ...responsesOf(ofMo, [false])]),
  );
  expect(last.contents).toMatchObject([{ result: expect.stringMatching(/rejected by user.*desk#mo/) }]);
});

test('one event on a bus that the windows of two people hear is one vote', async () => {
  const events: InteractionEvent[] = [];
  const windows = ['kim', 'mo'].map((id) => {
    const approvals = createToolApprovals(
      desk.worker(),
      sessionOf(desk.person(id)),
      'flow',
      (event) => void events.push(event),
    );
    return { id, ...approvals };
  });
  const toolCalls = [{ toolCallId: 'a', toolName: 'drop_table', arguments: { table: 'two' } }];
  const done = windows.map(({ execute }) => execute('node', { runId: 'bus', toolCalls }));
  const asked = await Promise.all(
    windows.map(({ id }) =>
      eventually(`the question to ${id}`, () =>
        events
          .filter((event) => event.type === 'USER_INTERACTION_REQUESTED')
          .find(({ metadata }) => metadata.person === `desk#${id}`),
      ),
    ),
  );
  const yesTo = (index: number): UserInteractionResponded => {
    const { interactionId, metadata } = asked[index]!;
    return sent({ interactionId, inputData: { ...metadata.toolApproval, approved: true } });
  };
  const heard = await Promise.allSettled(windows.map(({ respond }) => respond(yesTo(0), deliveryOf('kim'))));
  expect(heard).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: expect.any(MappingError) }]);
  const { approvalId } = asked[0]!.metadata;
  expect(await desk.approvedBy(approvalId)).toEqual(['desk#kim']);
  // Attack: the dialog of mo is on the screen of kim, who answers it.
  await expect(windows[1]!.respond(yesTo(1), deliveryOf('kim'))).rejects.toThrow(OtherPersonError);
  expect(await desk.approvedBy(approvalId)).toEqual(['desk#kim']);
  await windows[1]!.respond(yesTo(1), deliveryOf('mo'));
  expect(await Promise.all(done)).toMatchObject([[{ status: 'succeeded' }], [{ status: 'succeeded' }]]);
  expect(await desk.approvedBy(approvalId)).toEqual(['desk#kim', 'desk#mo']);
});

test('an answer that decided nothing does not count after a withdrawal, in another process and without idempotency keys', async () => {
  const [worker, kim, lee] = [desk.worker(), desk.person('kim'), desk.person('lee')];
  const first = await askAbout(
    worker,
    kim,
    'swallowed',
    ['a', 'b'].map((id) => callOf(id, 'drop_table', 'two')),
  );
  const history = responsesOf(first, [true, true]);
  const [a, b] = history.map(({ id }) => id);
  const { proposal, shownDigest } = await lee.getApproval(b!);
  const seen = { proposalDigest: proposal.digest, shownDigest };
  await lee.respond(b!, { decision: { type: 'approve' }, ...seen, instruction: 'then call' });
  const second = await answerTo(worker, sessionOf(kim), first.state, messageOf('kim', history));
  expect(codesOf(second)).toEqual(['StaleResponseError']);
  history.push(...responsesOf(second, [true]).map((one) => ({ ...one, additionalProperties: { reason: 'again' } })));
  expect(codesOf(await answerTo(worker, sessionOf(kim), first.state, messageOf('kim', history)))).toEqual([
    'StaleResponseError',
    'already-voted',
  ]);
  await desk.withdraw(a!);
  await desk.withdraw(b!, 'lee');
  await desk.restart();
  const last = await answerTo(desk.worker(), sessionOf(desk.person('kim')), first.state, messageOf('kim', history));
  expect(codesOf(last)).toEqual(['StaleResponseError', 'StaleResponseError', 'StaleResponseError']);
  expect([await desk.approvedBy(a!), await desk.approvedBy(b!)]).toEqual([[], []]);
  // The question of the next turn is another one.
  await answerTo(
    worker,
    sessionOf(kim),
    last.state,
    messageOf('kim', [...history, ...responsesOf(last, [true, true])]),
  );
  expect([await desk.approvedBy(a!), await desk.approvedBy(b!)]).toEqual([['desk#kim'], ['desk#kim']]);
});

test('a no reaches its approval also where the model gives that id to a later call', async () => {
  const [worker, kim] = [desk.worker(), desk.person('kim')];
  const first = await askAbout(worker, kim, 'ids', [callOf('a', 'drop_table', 'two')]);
  const denial = responsesOf(first, [false]);
  const later = await askAbout(worker, kim, 'ids', [callOf(denial[0]!.id, 'drop_table', 'one')]);
  const { refused } = await answerTo(worker, sessionOf(kim), later.state, messageOf('kim', denial));
  expect(refused).toEqual([]);
  expect(await kim.getApproval(denial[0]!.id)).toMatchObject({ state: 'denied' });
});

test('a no is sent also while the worker cannot run what is approved beside it', async () => {
  const [kim, lee] = [desk.person('kim'), desk.person('lee')];
  const calls = [callOf('x', 'drop_table', 'one'), callOf('a', 'drop_table', 'two')];
  const asked = await askAbout(desk.worker(), kim, 'rotated', calls);
  const [x, a] = responsesOf(asked, [true, false]);
  const { proposal, shownDigest } = await lee.getApproval(x!.id);
  await lee.respond(x!.id, { decision: { type: 'approve' }, proposalDigest: proposal.digest, shownDigest });
  const broken = desk.worker('a-token-that-was-replaced');
  const turn = answerTo(broken, sessionOf(kim), asked.state, messageOf('kim', [a!]));
  await expect(turn).rejects.toMatchObject({ code: 'unauthenticated' });
  expect(await kim.getApproval(a!.id)).toMatchObject({ state: 'denied' });
});

test('who withdrew a no says it again to the next question, and the first message brings it back no more', async () => {
  const [worker, kim] = [desk.worker(), desk.person('kim')];
  const first = await askAbout(worker, kim, 'anew', [callOf('a', 'drop_table', 'four')]);
  const [denial] = responsesOf(first, [false]);
  await answerTo(worker, sessionOf(kim), first.state, messageOf('kim', [denial!]));
  await desk.withdraw(denial!.id);
  const second = await answerTo(worker, sessionOf(kim), first.state, messageOf('kim', [denial!]));
  expect(codesOf(second)).toEqual(['idempotency-key-reused']);
  const third = await answerTo(worker, sessionOf(kim), second.state, messageOf('kim', responsesOf(second, [false])));
  expect(third.refused).toEqual([]);
  expect(await kim.getApproval(denial!.id)).toMatchObject({ progress: [{ deniedBy: ['desk#kim'] }] });
});

test('a no after the own yes is refused with what to do, and the same answer once more is not', async () => {
  const [worker, kim] = [desk.worker(), desk.person('kim')];
  const first = await askAbout(worker, kim, 'no', [callOf('a', 'drop_table', 'two')]);
  const second = await answerTo(worker, sessionOf(kim), first.state, messageOf('kim', responsesOf(first, [true])));
  expect(requestsOf(second)).toMatchObject([{ functionCall: { additionalProperties: { answered: 'approve' } } }]);
  // The same answer once more is no other one.
  expect(
    (await answerTo(worker, sessionOf(kim), first.state, messageOf('kim', responsesOf(second, [true])))).refused,
  ).toEqual([]);
  const { refused } = await answerTo(
    worker,
    sessionOf(kim),
    first.state,
    messageOf('kim', responsesOf(second, [false])),
  );
  expect(refused).toMatchObject([
    { response: { approved: false }, error: { code: 'already-voted', message: expect.stringContaining('withdraw') } },
  ]);
});

test('a dialog refuses another answer than the recorded one, also when its event comes again after a withdrawal', async () => {
  const [worker, kim] = [desk.worker(), desk.person('kim')];
  const events: InteractionEvent[] = [];
  const approvals = createToolApprovals(worker, sessionOf(kim), 'flow', (event) => void events.push(event));
  const toolCalls = [{ toolCallId: 'a', toolName: 'drop_table', arguments: { table: 'two' } }];
  void approvals.execute('node', { runId: 'dialog', toolCalls }).catch(() => undefined);
  const asked = await eventually('the question', () =>
    events.find((event) => event.type === 'USER_INTERACTION_REQUESTED'),
  );
  const { interactionId, metadata } = asked;
  const say = (answer: object) =>
    approvals.respond({ interactionId, inputData: { ...metadata.toolApproval, ...answer } }, deliveryOf('kim'));
  await say({ approved: true });
  await expect(say({ approved: false })).rejects.toThrow(/withdraw/);
  await expect(say({ approved: true, userInstruction: 'second' })).rejects.toThrow(/withdraw/);
  await desk.withdraw(metadata.approvalId);
  await expect(say({ approved: true, userInstruction: 'second' })).rejects.toThrow(StaleResponseError);
  expect(await desk.approvedBy(metadata.approvalId)).toEqual([]);
  expect(events.map(({ type }) => type.replace('USER_INTERACTION_', ''))).toEqual([
    'REQUESTED',
    'PROCESSED',
    'REQUESTED',
  ]);
});

test('a no of a dialog counts though another person has voted and withdrawn since', async () => {
  const [worker, kim, lee] = [desk.worker(), desk.person('kim'), desk.person('lee')];
  const events: InteractionEvent[] = [];
  const approvals = createToolApprovals(worker, sessionOf(kim), 'flow', (event) => void events.push(event));
  const toolCalls = [{ toolCallId: 'a', toolName: 'drop_table', arguments: { table: 'two' } }];
  const done = approvals.execute('node', { runId: 'objection', toolCalls });
  const asked = await eventually('the question', () =>
    events.find((event) => event.type === 'USER_INTERACTION_REQUESTED'),
  );
  const { interactionId, metadata } = asked;
  const { approvalId, proposalDigest, shownDigest } = metadata;
  await lee.respond(approvalId, { decision: { type: 'approve' }, proposalDigest, shownDigest });
  await desk.withdraw(approvalId, 'lee');
  const yes = { interactionId, inputData: { ...metadata.toolApproval, approved: true } };
  await expect(approvals.respond(yes, deliveryOf('kim'))).rejects.toThrow(StaleResponseError);
  const no = { interactionId, inputData: metadata.toolApproval };
  await approvals.respond(no, deliveryOf('kim'));
  expect(await done).toMatchObject([{ status: 'denied' }]);
});

test('the event that closes a dialog does not say that a call was approved that a person answered in its place', async () => {
  const [worker, kim, lee] = [desk.worker(), desk.person('kim'), desk.person('lee')];
  const events: InteractionEvent[] = [];
  const approvals = createToolApprovals(worker, sessionOf(kim), 'flow', (event) => void events.push(event));
  const toolCalls = [{ toolCallId: 'a', toolName: 'drop_table', arguments: { table: 'x' } }];
  const done = approvals.execute('node', { runId: 'answered', toolCalls });
  const asked = await eventually('the question', () =>
    events.find((event) => event.type === 'USER_INTERACTION_REQUESTED'),
  );
  const { approvalId, proposalDigest, shownDigest } = asked.metadata;
  await lee.respond(approvalId, { decision: { type: 'answer', output: { kept: true } }, proposalDigest, shownDigest });
  expect(await done).toMatchObject([{ status: 'succeeded', answered: true, output: { kept: true } }]);
  expect(events[1]).toMatchObject({
    ...{ type: 'USER_INTERACTION_PROCESSED', results: null },
    metadata: { outcome: 'answered', decidedBy: ['desk#lee'], output: { kept: true } },
  });
});

test('a person sees masks, and answers to them; the tool gets the value', async () => {
  const [worker, kim] = [desk.worker(), desk.person('kim')];
  const call = {
    type: 'function_call',
    callId: 'a',
    name: 'wire',
    arguments: { password: 'hunter2', amount: 3 },
  } as const;
  const first = await askAbout(worker, kim, 'masked', [call]);
  expect(JSON.stringify(first.contents)).not.toContain('hunter2');
  const last = await answerTo(worker, sessionOf(kim), first.state, messageOf('kim', responsesOf(first, [true])));
  expect(last.contents).toEqual([{ type: 'function_result', callId: 'a', result: { wired: 3 } }]);
});

test('one prompt asks about a step that runs together or not at all, and no call of a turn is left out', async () => {
  const [worker, kim] = [desk.worker(), desk.person('kim')];
  const calls = [callOf('a', 'drop_table', 'step'), callOf('b', 'wire', 'x'), callOf('c', 'drop_table', 'y')];
  const wired = { ...calls[1]!, arguments: { password: 'hunter2', amount: 3 } };
  const first = await askAbout(worker, kim, 'step', [calls[0]!, wired, calls[2]!]);
  const prompts = promptsOf(requestsOf(first));
  expect(prompts.map((prompt) => prompt.map(({ functionCall }) => functionCall.callId))).toEqual([['a', 'b', 'c']]);
  const half = await answerTo(worker, sessionOf(kim), first.state, messageOf('kim', responsesOf(first, [true])));
  expect(half.waiting).toEqual([{ callId: 'a', state: 'approved' }]);
  expect(requestsOf(half)).toHaveLength(2);
  const [prompt] = promptsOf(requestsOf(half));
  const last = await answerTo(worker, sessionOf(kim), half.state, messageOf('kim', sent(responsesTo(prompt!, true))));
  expect(last.contents).toMatchObject([
    { result: { dropped: 'step' } },
    { result: { wired: 3 } },
    { result: { dropped: 'y' } },
  ]);
  const denied = await askAbout(worker, kim, 'no step', [calls[0]!, calls[2]!]);
  const none = await answerTo(
    worker,
    sessionOf(kim),
    denied.state,
    messageOf('kim', sent(responsesTo(promptsOf(requestsOf(denied))[0]!, false))),
  );
  // The first no has ended the second call, as the person wanted.
  expect(codesOf(none)).toEqual([]);
  expect(none.contents).toMatchObject([{ type: 'function_result' }, { type: 'function_result' }]);
});

test('a "yes" to the prompt of a step releases no call that it did not show', async () => {
  const [worker, kim, mo] = [desk.worker(), desk.person('kim'), desk.person('mo')];
  const calls = ['step', 'y', 'z'].map((table, index) => callOf('abc'.charAt(index), 'drop_table', table));
  const first = await askAbout(worker, kim, 'shown', calls);
  const [before] = promptsOf(requestsOf(first));
  expect(releasedBy(before!)).toEqual([]);
  // While it is on the screen, another person edits and approves one call.
  const { proposal, shownDigest } = await mo.getApproval(before![1]!.id);
  const decision = { type: 'edit', arguments: { table: 'all' } } as const;
  await mo.respond(before![1]!.id, { decision, proposalDigest: proposal.digest, shownDigest });
  const yes = messageOf('kim', sent(responsesTo(before!, true)));
  const turn = await answerTo(worker, sessionOf(kim), first.state, yes);
  expect(codesOf(turn)).toEqual(['StaleResponseError', 'StaleResponseError', 'StaleResponseError']);
  const [now] = promptsOf(requestsOf(turn));
  expect(now!.map(({ functionCall }) => functionCall.callId)).toEqual(['a', 'c']);
  expect(releasedBy(now!)).toMatchObject([
    {
      ...{ toolCallId: 'b', toolName: 'drop_table', arguments: { table: 'all' } },
      ...{ state: 'approved', approvedBy: ['desk#mo'], output: null },
    },
  ]);
  const answer = messageOf('kim', sent(responsesTo(now!, true)));
  const last = await answerTo(worker, sessionOf(kim), turn.state, answer);
  expect(last.refused).toEqual([]);
  expect(last.contents).toMatchObject([{ result: { dropped: 'step' } }, { callId: 'b' }, { result: { dropped: 'z' } }]);
});

test('a "yes" to the prompt of a step is refused for an edit that comes after the chat has looked', async () => {
  const [worker, kim, mo] = [desk.worker(), desk.person('kim'), desk.person('mo')];
  const calls = ['step', 'y'].map((table, index) => callOf('ab'.charAt(index), 'drop_table', table));
  const first = await askAbout(worker, kim, 'in-between', calls);
  const [prompt] = promptsOf(requestsOf(first));
  let edits = 0;
  const inBetween: typeof kim = {
    ...kim,
    respond: async (...given) => {
      edits += 1;
      const decision = { type: 'edit', arguments: { table: 'all' } } as const;
      if (edits === 1) await mo.respond(prompt![1]!.id, { decision });
      return kim.respond(...given);
    },
  };
  const yes = messageOf('kim', sent(responsesTo(prompt!, true)));
  const turn = await answerTo(worker, sessionOf(inBetween), first.state, yes);
  expect(codesOf(turn)).toEqual(['digest-mismatch', 'StaleResponseError']);
  expect(releasedBy(promptsOf(requestsOf(turn))[0]!)).toMatchObject([{ toolCallId: 'b', arguments: { table: 'all' } }]);
});

test('a call that another process has claimed is in the turn with its state', async () => {
  const [worker, kim] = [desk.worker(), desk.person('kim')];
  const first = await askAbout(
    worker,
    kim,
    'claimed',
    ['x', 'two'].map((id) => callOf(id, 'drop_table', id)),
  );
  const { id } = responsesOf(first, [true])[0]!;
  const { callId, proposal, shownDigest } = await kim.getApproval(id);
  await kim.respond(id, { decision: { type: 'approve' }, proposalDigest: proposal.digest, shownDigest });
  await desk.claim(callId);
  const turn = await answerTo(worker, sessionOf(kim), first.state, messageOf('kim', []));
  expect(turn.waiting).toEqual([{ callId: 'x', state: 'executing' }]);
});

test('what a person answered before they were ended does not count in another spelling of the name', async () => {
  const worker = desk.worker();
  const first = await askAbout(worker, desk.person('jo'), 'ended', [callOf('a', 'drop_table', 'two')]);
  const history = responsesOf(first, [true]);
  await answerTo(worker, sessionOf(desk.person('jo')), first.state, messageOf('jo', history));
  await desk.end('jo');
  for (const id of ['jo', 'Jo']) {
    expect(codesOf(await answerTo(worker, sessionOf(desk.person(id)), first.state, messageOf(id, history)))).toEqual([
      'StaleResponseError',
    ]);
  }
  expect(await desk.approvedBy(history[0]!.id)).toEqual([]);
});

test('in no order of questions, answers, withdrawals and replays does anybody get a vote that they did not give', async () => {
  const worker = desk.worker();
  let runs = 0;
  let recorded = 0;
  const rule = fc.asyncProperty(acts, async (all) => {
    runs += 1;
    const first = await askAbout(worker, desk.person('kim'), `orders-${String(runs)}`, [
      callOf('a', 'drop_table', 'four'),
    ]);
    recorded += await play(desk, requestsOf(first)[0]!.id, all);
  });
  await fc.assert(rule, { numRuns: 8, endOnFailure: true });
  expect(recorded).toBeGreaterThan(0);
});
