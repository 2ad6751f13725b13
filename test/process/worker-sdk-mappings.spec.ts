import { beforeAll, expect, test } from '@jest/globals';
import { CountersignError, createClient, gateTool } from '@countersign/worker-sdk';
import type { Client } from '@countersign/worker-sdk';
import { MappingError, OtherPersonError, OtherSignInError, StaleResponseError } from '@countersign/worker-sdk/mappings';
import { z } from 'zod';
import { answerTo, askAbout } from '../../libs/worker-sdk/examples/function-approvals.js';
import { createToolApprovals, type ToolApprovals } from '../../libs/worker-sdk/examples/user-interactions.js';
import { cleanUpAfterAll } from './harness/cleanup.js';
import { eventually } from './harness/wait.js';
import { callOf, deliveryOf, messageOf, openDesk, responsesOf, sessionOf } from './worker-sdk/desk.js';
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
  const half = await answerTo(worker, sessionOf(user), first.state, messageOf('kim', [no!]));
  const denied = { callId: 'a', result: expect.stringMatching(/rejected by user.*desk#kim/) };
  expect(half.contents).toMatchObject([denied, { type: 'function_approval_request', functionCall: { callId: 'b' } }]);
  const whole = await answerTo(worker, sessionOf(user), half.state, messageOf('kim', [no!, yes!]));
  expect(whole.contents).toMatchObject([denied, { callId: 'b', result: { table: 'y', rows: 3 } }]);
});

test('a response with the call of the model in place of the one that asked decides nothing', async () => {
  const { user, worker } = setUp();
  const functionCall = callOf('a', 'drop_table', 'x');
  const turn = await askAbout(worker, user, 'bare', [functionCall]);
  const [response] = responsesOf(turn, [true]);
  const { refused } = await answerTo(
    worker,
    sessionOf(user),
    turn.state,
    messageOf('kim', [{ ...response!, functionCall }]),
  );
  expect(refused).toMatchObject([{ response: { id: response!.id }, error: expect.any(MappingError) }]);
  expect((await user.getApproval(response!.id)).state).toBe('pending');
});

test('an answer whose person withdrew it does not count again when its message is read again', async () => {
  const { user, worker } = setUp();
  const first = await askAbout(worker, user, 'withdrawn', [callOf('two', 'drop_table', 'two')]);
  const history = responsesOf(first, [true]);
  const id = history[0]!.id;
  await answerTo(worker, sessionOf(user), first.state, messageOf('kim', history));
  expect(await desk.approvedBy(id)).toEqual(['desk#kim']);
  await desk.withdraw(id);
  const again = await answerTo(worker, sessionOf(user), first.state, messageOf('kim', history));
  expect(await desk.approvedBy(id)).toEqual([]);
  // The question of the next turn is another one: its answer is deliberate.
  await answerTo(worker, sessionOf(user), again.state, messageOf('kim', [...history, ...responsesOf(again, [true])]));
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
  const turn = await answerTo(worker, sessionOf(user), first.state, messageOf('kim', answers));
  expect(turn.contents).toMatchObject([
    { type: 'function_result', callId: 'c', result: { dropped: 'c' } },
    { type: 'function_approval_request', functionCall: { callId: 'two', arguments: { table: 'all' } } },
    { functionCall: { callId: 'why', additionalProperties: { requireReason: ['deny'] } } },
  ]);
  expect(turn.refused).toMatchObject([
    // A "no" is sent first.
    { response: { id: answers[1]!.id }, error: { code: 'reason-required' } },
    { response: { id: answers[0]!.id }, error: { name: 'StaleResponseError' } },
  ]);
  const withReason = responsesOf(turn, [true, false]).slice(1);
  const why = [{ ...withReason[0]!, additionalProperties: { reason: 'too late' } }];
  const last = await answerTo(worker, sessionOf(user), turn.state, messageOf('kim', why));
  expect(last.contents).toContainEqual(
    expect.objectContaining({ callId: 'why', result: expect.stringContaining('too late') }),
  );
});

test('a click of one person on the question of another one is no vote of either, in no later turn of the chat', async () => {
  const { user: kim, worker } = setUp();
  const mo = desk.person('mo');
  const first = await askAbout(worker, kim, 'clicked', [callOf('a', 'drop_table', 'two')]);
  const responses = responsesOf(first, [true]);
  const { id } = responses[0]!;
  await answerTo(worker, sessionOf(kim), first.state, messageOf('kim', responses));
  // The questions for mo are the last contents of the chat, on the screen of kim too.
  const ofMo = await answerTo(worker, sessionOf(mo), first.state, messageOf('mo', []));
  const clicked = messageOf('kim', responsesOf(ofMo, [true]));
  const ofKim = await answerTo(worker, sessionOf(kim), ofMo.state, clicked);
  expect(ofKim.refused).toMatchObject([{ error: { name: 'OtherPersonError' } }]);
  // Attack: the turn of mo reads what kim sent.
  const passed = await answerTo(worker, sessionOf(mo), ofKim.state, clicked);
  expect(passed.refused).toMatchObject([{ error: expect.any(OtherPersonError) }]);
  expect(await desk.approvedBy(id)).toEqual(['desk#kim']);
});

test('of two people who write at once each turn sends its own message, and a failed turn passes it again later', async () => {
  const { user: kim, worker } = setUp();
  const mo = desk.person('mo');
  const first = await askAbout(worker, kim, 'at once', [callOf('a', 'drop_table', 'two')]);
  const ofMo = await answerTo(worker, sessionOf(mo), first.state, messageOf('mo', []));
  const no = messageOf('kim', responsesOf(first, [false]));
  const away = {
    ...kim,
    respond: () => Promise.reject(new CountersignError({ code: 'unreachable', message: 'away' })),
  };
  await expect(answerTo(worker, sessionOf(away), first.state, no)).rejects.toThrow('away');
  await answerTo(worker, sessionOf(mo), first.state, messageOf('mo', responsesOf(ofMo, [true])));
  const again = await answerTo(worker, sessionOf(kim), first.state, no);
  expect(again.refused).toEqual([]);
  expect(again.contents).toMatchObject([{ result: expect.stringMatching(/rejected by user.*desk#kim/) }]);
});

test('a yes that was refused for its low assurance does not count when the person has signed in with a second factor', async () => {
  const { user: low, worker } = setUp();
  const proven = desk.person('kim', 'proven');
  const first = await askAbout(worker, low, 'assured', [callOf('a', 'drop_table', 'assured')]);
  const yes = messageOf('kim', responsesOf(first, [true]));
  const { id } = yes.contents[0]!;
  const refused = await answerTo(worker, sessionOf(low), first.state, yes);
  expect(refused.refused).toMatchObject([{ error: { code: 'not-an-approver' } }]);
  const session = sessionOf(proven, 'second');
  // As when the application crashed before it stored the turn.
  const later = await answerTo(worker, session, refused.state, yes);
  expect(later.refused).toMatchObject([{ error: { name: 'OtherSignInError' } }]);
  expect(await desk.approvedBy(id)).toEqual([]);
  const last = await answerTo(worker, session, later.state, messageOf('kim', responsesOf(later, [true]), 'second'));
  expect(last.contents).toMatchObject([{ type: 'function_result' }]);
});

test('an answer that is refused stops no other: each "no" of the message is recorded', async () => {
  const { user, worker } = setUp();
  const tables = ['signed', 'x', 'y', 'z'];
  const calls = tables.map((table) => callOf(table, 'drop_table', table));
  const first = await askAbout(worker, user, 'refusals', calls);
  const [signed, long, half, plain] = responsesOf(first, [true, false, false, false]);
  const because = (reason: string) => ({ additionalProperties: { reason } });
  const contents = [signed!, { ...long!, ...because('x'.repeat(8193)) }, { ...half!, ...because('\ud800') }, plain!];
  const turn = await answerTo(worker, sessionOf(user), first.state, messageOf('kim', contents));
  expect(turn.refused.map(({ response, error }) => [response.id, 'code' in error ? error.code : error.name])).toEqual([
    [long!.id, 'MappingError'],
    [half!.id, 'MappingError'],
    [signed!.id, 'signature-required'],
  ]);
  expect(turn.contents).toContainEqual(
    expect.objectContaining({ callId: 'z', result: expect.stringMatching(/rejected by user/) }),
  );
});

test('each answer is recorded or refused: to another step, by the id of the call, too late, or no answer at all', async () => {
  const { lee, user, worker } = setUp();
  const earlier = await askAbout(worker, user, 'answers', [callOf('a', 'drop_table', 'two')]);
  const calls = ['named', 'late', 'broken', 'fine'].map((id) => callOf(id, 'drop_table', id === 'late' ? 'two' : id));
  const first = await askAbout(worker, user, 'answers', calls);
  const [named, late, broken, fine] = responsesOf(first, [false, false, true, false]);
  const { proposal } = await lee.getApproval(late!.id);
  await lee.respond(late!.id, { decision: { type: 'deny' }, proposalDigest: proposal.digest });
  const contents = [
    ...[null as never, { ...broken!, functionCall: null as never }, late!],
    ...[{ ...named!, id: 'named' }, fine!, ...responsesOf(earlier, [false])],
  ];
  const message = messageOf('kim', contents);
  const turn = await answerTo(worker, sessionOf(user), first.state, message);
  const refusals = turn.refused.map(({ error }) => ('code' in error ? error.code : error.name));
  expect(refusals).toEqual(['MappingError', 'already-resolved', 'MappingError']);
  for (const id of [named!.id, fine!.id, contents.at(-1)!.id]) {
    expect(await user.getApproval(id)).toMatchObject({ resolution: 'denied', progress: [{ deniedBy: ['desk#kim'] }] });
  }
  // As when the application crashed before it stored the turn.
  const again = { ...message, contents: [late!, fine!] };
  expect((await answerTo(worker, sessionOf(user), first.state, again)).refused).toMatchObject([
    { response: { id: late!.id } },
  ]);
});

test('a no to what is pending counts, whatever others have voted, told or withdrawn since it was shown', async () => {
  const { lee, user, worker } = setUp();
  const calls = ['four b', 'four c'].map((table) => callOf(table, 'drop_table', table));
  const first = await askAbout(worker, user, 'objection', calls);
  const answers = responsesOf(first, [false, false]);
  for (const { id } of answers) {
    const { proposal, shownDigest } = await lee.getApproval(id);
    const seen = { proposalDigest: proposal.digest, shownDigest };
    await lee.respond(id, { decision: { type: 'approve' }, ...seen, instruction: 'then call' });
  }
  await desk.withdraw(answers[0]!.id, 'lee');
  expect((await answerTo(worker, sessionOf(user), first.state, messageOf('kim', answers))).refused).toEqual([]);
  for (const { id } of answers) {
    expect((await lee.getApproval(id)).progress).toMatchObject([{ deniedBy: ['desk#kim'] }]);
  }
});

/** A window in which a person has just signed in. */
function openWindow(user: Client, signIn: string, calls: Parameters<ToolApprovals['execute']>[1]) {
  const events: InteractionEvent[] = [];
  const bus = { isAway: false };
  const emit = (event: InteractionEvent): void => {
    if (bus.isAway) throw new Error('the bus is away');
    events.push(event);
  };
  const approvals = createToolApprovals(desk.worker(), sessionOf(user, signIn), 'flow', emit);
  const done = approvals.execute('node', calls);
  done.catch(() => undefined);
  const asked = eventually('the question', () => events.find((event) => event.type === 'USER_INTERACTION_REQUESTED'));
  return { ...approvals, asked, bus, done, events };
}
const callsOf = (runId: string, table: string) => ({
  runId,
  toolCalls: [{ toolCallId: 'a', toolName: 'drop_table', arguments: { table } }],
});

test('a yes of a dialog counts only in the sign-in in which it was given, and only once', async () => {
  const { lee, user } = setUp();
  const calls = callsOf('handled', 'assured');
  let current = user;
  const switched = { getMe: () => current.getMe(), getApproval: (id: string) => current.getApproval(id) };
  const respond: typeof user.respond = (...all) => current.respond(...all);
  const phone = openWindow({ ...user, ...switched, respond }, 'phone', calls);
  const { interactionId, metadata } = await phone.asked;
  const yes = { interactionId, inputData: { ...metadata.toolApproval, approved: true } };
  const delivery = deliveryOf('kim', 'phone');
  await expect(phone.respond(yes, delivery)).rejects.toThrow(/assurance/);
  // The assurance of the sign-in was raised in its place, and the bus delivers the event again.
  current = desk.person('kim', 'proven');
  await expect(phone.respond(yes, delivery)).rejects.toThrow(/assurance/);
  const laptop = openWindow(current, 'laptop', calls);
  expect((await laptop.asked).interactionId).toBe(interactionId);
  for (const heard of [delivery, deliveryOf('kim', 'phone')]) {
    await expect(laptop.respond(yes, heard)).rejects.toThrow(OtherSignInError);
  }
  expect((await lee.getApproval(metadata.approvalId)).responses).toEqual([]);
  // A "no" only restricts.
  await laptop.respond({ ...yes, inputData: metadata.toolApproval }, deliveryOf('kim', 'phone'));
  expect(await Promise.all([phone.done, laptop.done])).toMatchObject([[{ status: 'denied' }], [{ status: 'denied' }]]);
});

test('a no of a dialog of an earlier window counts for the proposal that is pending, and a yes does not', async () => {
  const { lee, user } = setUp();
  const calls = callsOf('restarted', 'two');
  const { interactionId, metadata } = await openWindow(user, 'first', calls).asked;
  const { approvalId, proposalDigest, shownDigest } = metadata;
  const decision = { type: 'approve' } as const;
  await lee.respond(approvalId, { decision, proposalDigest, shownDigest, instruction: 'then call' });
  const next = openWindow(user, 'second', calls);
  expect((await next.asked).interactionId).not.toBe(interactionId);
  const say = (approved: boolean) =>
    next.respond(
      { interactionId, inputData: { ...metadata.toolApproval, approved } },
      deliveryOf('kim', approved ? 'second' : 'first'),
    );
  await expect(say(true)).rejects.toThrow(StaleResponseError);
  await say(false);
  // The bus delivers it again.
  await say(false);
  expect(await next.done).toMatchObject([{ status: 'denied' }]);
});

test('a no of a dialog counts after a failure of the token or of the bus', async () => {
  const { lee, user } = setUp();
  const isOn = { token: true };
  const respond: typeof user.respond = (...all) =>
    isOn.token ? user.respond(...all) : createClient({ url: desk.url, token: 'none-of-this-spec' }).respond(...all);
  const window = openWindow({ ...user, respond }, 'first', callsOf('failures', 'two'));
  const { interactionId, metadata } = await window.asked;
  const { approvalId, proposalDigest, shownDigest } = metadata;
  const delivery = deliveryOf('kim');
  const no = { interactionId, inputData: metadata.toolApproval };
  isOn.token = false;
  await expect(window.respond(no, delivery)).rejects.toMatchObject({ status: 401 });
  isOn.token = true;
  const decision = { type: 'approve' } as const;
  await lee.respond(approvalId, { decision, proposalDigest, shownDigest, instruction: 'then call' });
  window.bus.isAway = true;
  await expect(window.respond(no, delivery)).rejects.toThrow('the bus is away');
  window.bus.isAway = false;
  await window.respond(no, delivery);
  expect(await window.done).toMatchObject([{ status: 'denied' }]);
  const types = window.events.map(({ type, metadata: { approvalId: _, ...rest } }) =>
    'outcome' in rest ? rest.outcome : type.replace('USER_INTERACTION_', ''),
  );
  expect(types).toEqual(['REQUESTED', 'superseded', 'REQUESTED', 'denied']);
});

test('events of a workflow engine ask about one call after another, with edits and instructions', async () => {
  const { user, worker } = setUp();
  const events: InteractionEvent[] = [];
  const approvals = createToolApprovals(worker, sessionOf(user), 'flow', (event) => void events.push(event));
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
  await approvals.respond(
    { interactionId, inputData: { ...metadata.toolApproval, userInstruction: 'leave it' } },
    deliveryOf('kim'),
  );
  const second = await askedAbout('y');
  const inputData = { ...second.metadata.toolApproval, approved: true, editedParameters: { table: 'z' } };
  await approvals.respond({ interactionId: second.interactionId, inputData }, deliveryOf('kim'));
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
  const approvals = createToolApprovals(worker, sessionOf(user), 'flow', (event) => void events.push(event));
  const toolCalls = [{ toolCallId: 'a', toolName: 'drop_table', arguments: { table: 'two' } }];
  const done = approvals.execute('node', { runId: 'quorum', toolCalls });
  const asked = await eventually('the question', () =>
    events.find((event) => event.type === 'USER_INTERACTION_REQUESTED'),
  );
  const { interactionId, metadata } = asked;
  const inputData = { ...metadata.toolApproval, approved: true };
  await expect(
    approvals.respond({ interactionId: `${metadata.approvalId}/other`, inputData }, deliveryOf('kim')),
  ).rejects.toThrow(MappingError);
  await approvals.respond({ interactionId, inputData }, deliveryOf('kim'));
  expect(events).toHaveLength(1);
  const { approvalId, proposalDigest, shownDigest } = metadata;
  await lee.respond(approvalId, { decision: { type: 'deny' }, proposalDigest, shownDigest });
  expect(await done).toMatchObject([{ status: 'denied' }]);
  const late = { interactionId, inputData: { ...inputData, approved: false } };
  await expect(approvals.respond(late, deliveryOf('kim'))).rejects.toMatchObject({ code: 'already-resolved' });
  expect(events.slice(1)).toMatchObject([
    { interactionId, results: { approved: false }, metadata: { outcome: 'denied', decidedBy: ['desk#lee'] } },
  ]);
});

test('a workflow whose allow-list and time are those of its workflow.toml asks about another tool alone, in the words of the workflow', async () => {
  const toolOf = (name: string, description: string) =>
    gateTool({
      ...{ name, description, inputSchema: z.strictObject({ q: z.string() }) },
      approvalPrompt: () => `是否批准调用工具 "${name}"?`,
      execute: ({ q }) => `${name}: ${q}`,
    });
  const names = ['get_weather', 'send_mail', 'search_web'];
  const tools = names.map((name) => toolOf(name, `Tool ${name}`));
  const rules =
    'version: 1\ndefault: require\nautoApprovedTools: [get_weather, search_web]\ndefaults: { batch: sequential, expiresIn: 1m }\n';
  const own = await openDesk(rules, tools);
  const events: InteractionEvent[] = [];
  const window = sessionOf(own.person('kim'));
  const approvals = createToolApprovals(own.worker(), window, 'flow', (event) => void events.push(event));
  const toolCalls = names.map((toolName) => ({ toolCallId: toolName, toolName, arguments: { q: 'x' } }));
  const done = approvals.execute('node', { runId: 'thread', toolCalls });
  const asked = await eventually('the question', () => events[0]);
  expect(asked).toMatchObject({
    ...{ type: 'USER_INTERACTION_REQUESTED', operationType: 'TOOL_APPROVAL', threadId: 'thread', timeout: 60_000 },
    prompt: 'Run the tool `send_mail` with these parameters?  \nThe agent says: `"是否批准调用工具 \\"send_mail\\"?"`',
    metadata: {
      toolApproval: { toolName: 'send_mail', toolDescription: 'Tool send_mail', toolParameters: { q: 'x' } },
    },
  });
  const inputData = {
    ...{ toolName: 'send_mail', toolDescription: 'Tool send_mail', toolParameters: { q: 'x' }, approved: true },
    ...{ editedParameters: { q: 'y' }, userInstruction: 'then tell me' },
  };
  await approvals.respond({ interactionId: asked.interactionId, inputData }, deliveryOf('kim'));
  expect(await done).toMatchObject([
    { status: 'succeeded', output: 'get_weather: x' },
    { status: 'succeeded', output: 'send_mail: y', edited: true, instruction: 'then tell me' },
    { status: 'succeeded', output: 'search_web: x' },
  ]);
  expect(events.map(({ type }) => type)).toEqual(['USER_INTERACTION_REQUESTED', 'USER_INTERACTION_PROCESSED']);
});
