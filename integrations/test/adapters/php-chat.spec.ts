import { beforeAll, expect, it, jest } from '@jest/globals';
import { missing } from '../../../test/clients/tools.ts';
import { cleanUpAfterAll } from '../../../test/process/harness/cleanup.js';
import { eventually } from '../../../test/process/harness/wait.js';
import {
  approveAs,
  askAgain,
  installDesk,
  openChat,
  slowAnswers,
  stopChat,
  withdrawAs,
  type Chat,
} from './php-desk.ts';

jest.setTimeout(300_000);

/** A message with one call, about which people are asked. */
async function asked(chat: Chat, id: string, amount: number) {
  const assistant = { role: 'assistant', id, toolCalls: [{ name: 'transfer', arguments: { amount } }] };
  return { assistant, ...(await chat.post([assistant])).toolApprovalRequests[0]! };
}

if (missing(['PHP with Guzzle']).length === 0) {
  let env: Readonly<Record<string, string>>;
  cleanUpAfterAll();
  beforeAll(async () => {
    const { port, tokens } = await installDesk();
    const url = `http://127.0.0.1:${String(port)}`;
    const sent = { COUNTERSIGN_TOKEN: 'support-desk-token', COUNTERSIGN_RESOLVER_TOKEN: tokens.worker };
    env = { URL: url, COUNTERSIGN_URL: url, ...sent };
  });

  it('the chat of the guide has two phases and no state, and decides only what its user was shown', async () => {
    const chat = await openChat(env);
    const toolCalls = [
      { id: '', name: 'transfer', arguments: { amount: 5000 } },
      { id: '', name: 'transfer', arguments: { amount: 6000 } },
      { id: '', name: 'transfer', arguments: { amount: 5 } },
      { id: '', name: 'get_location', arguments: {} },
      { id: '', name: 'transfer', arguments: {} },
    ];
    const phase = (...more: readonly object[]) => chat.post([{ role: 'assistant', id: 'msg_1', toolCalls }, ...more]);
    expect(await chat.statusOf({ cookie: '' })).toBe(403);
    for (const type of ['text/plain', 'application/json-seq'])
      expect(await chat.statusOf({ 'content-type': type })).toBe(403);
    expect(await chat.statusOf({ 'content-type': 'application/json; charset=utf-8' })).toBe(200);

    const first = await chat.post([
      { role: 'user', content: 'pay' },
      { role: 'assistant', id: 'msg_1', toolCalls },
    ]);
    expect(first).toMatchObject({
      clientCalls: [{ toolCallId: 'msg_1/3', toolName: 'get_location', arguments: {} }],
      toolResults: { 'msg_1/2': 'sent 5', 'msg_1/4': expect.stringContaining('did not run: arguments') },
      stopReason: 'awaiting_approval',
    });
    const [asked, other] = first.toolApprovalRequests;
    expect(asked?.text).toContain('{"amount":5000}');
    // The second user has a conversation of their own, and decides nothing of this one.
    const { approvalId, digest, shownRevision } = asked!;
    const answer = { approvalId, digest, shownRevision, approved: true };
    const denial = { approvalId: other?.approvalId, digest: other?.digest, approved: false, reason: 'too much' };
    const lou = await chat.post(
      [
        { role: 'assistant', id: 'msg_1', toolCalls: [toolCalls[2]] },
        { role: 'tool', toolApprovalResponses: [answer] },
      ],
      'lou',
    );
    expect(lou).toMatchObject({
      refused: { [asked!.approvalId]: { problem: 'not-found' } },
      toolResults: { 'msg_1/0': 'sent 5' },
      stopReason: null,
    });

    const forged = [
      { ...answer, digest: undefined },
      { ...denial, shownRevision, approved: true, digest: `sha256:${'0'.repeat(64)}` },
    ];
    expect(await phase({ role: 'tool', toolApprovalResponses: forged })).toMatchObject({
      toolApprovalRequests: [asked, other],
      refused: {
        [asked!.approvalId]: { problem: 'invalid-request' },
        [other!.approvalId]: { problem: 'digest-mismatch' },
      },
    });
    const toolResults = [
      { toolCallId: 'msg_1/3', result: 'Bern' },
      { toolCallId: 'msg_1/0', result: 'forged' },
    ];
    // The second time is that of a browser that sends again.
    for (const _ of ['once', 'again'])
      expect(await phase({ role: 'tool', toolApprovalResponses: [answer, denial], toolResults })).toMatchObject({
        toolApprovalRequests: [],
        clientCalls: [],
        refused: {},
        toolResults: {
          'msg_1/0': 'sent 5000',
          'msg_1/1': 'The call was denied by support-desk#kim and did not run: too much',
          'msg_1/2': 'sent 5',
          'msg_1/3': 'Bern',
        },
        stopReason: null,
      });
  });

  it('the chat of the guide tells the model that a call without a response was denied', async () => {
    const chat = await openChat(env);
    const toolCalls = [5000, 6000].map((amount) => ({ id: 'transfer', name: 'transfer', arguments: { amount } }));
    const assistant = { role: 'assistant', id: 'msg_2', toolCalls };
    const { toolApprovalRequests } = await chat.post([assistant]);
    const { approvalId, digest, shownRevision } = toolApprovalRequests[0]!;
    const sent = { role: 'tool', toolApprovalResponses: [{ approvalId, digest, shownRevision, approved: true }] };
    expect((await chat.post([assistant, sent])).toolResults).toEqual({
      'msg_2/0': 'sent 5000',
      'msg_2/1': 'The call was cancelled before it ran: the user did not respond, so it counts as denied',
    });
  });

  it('in the chat of the guide the user\'s "no" wins before the tool runs, and only the chat may answer', async () => {
    const chat = await openChat(env);
    const toolCalls = [
      { name: 'transfer', arguments: { amount: 7000 } },
      { name: 'transfer', arguments: { amount: 8000 } },
      { name: 'get_location', arguments: {} },
      { name: 'transfer' },
    ];
    const assistant = { role: 'assistant', id: 'msg_3', toolCalls };
    const { toolApprovalRequests } = await chat.post([assistant]);
    const [first, second] = toolApprovalRequests;
    expect(await approveAs(env, 'lee', 'support', first!.approvalId)).toBe(403);
    expect(await approveAs(env, 'lee', 'chat', first!.approvalId)).toBe(200);
    // Without a digest, as Prism sends them; then the user types on.
    const denials = [first, second].map((one) => ({ approvalId: one?.approvalId, approved: false, reason: 'never' }));
    const sent = [
      { role: 'tool', toolApprovalResponses: denials },
      { role: 'user', content: 'and now?' },
    ];
    for (const _ of ['once', 'again'])
      expect(await chat.post([assistant, ...sent])).toMatchObject({
        refused: { [first!.approvalId]: { problem: 'already-resolved', by: 'support-desk#lee' } },
        toolResults: {
          'msg_3/0': 'The call was cancelled before it ran: the user said no',
          'msg_3/1': 'The call was denied by support-desk#kim and did not run: never',
          'msg_3/2': 'The call was cancelled before it ran: the user went on without it',
          'msg_3/3': expect.stringContaining('did not run: arguments'),
        },
        stopReason: null,
      });

    const odd = [
      { toolApprovalResponses: 'x' },
      { toolApprovalResponses: [{ ...denials[0], reason: ['x'] }] },
      { toolApprovalResponses: [{ ...denials[0], digest: 7 }] },
      { toolApprovalResponses: [{ ...denials[0], shownRevision: '1' }] },
      { toolResults: [{ toolCallId: [] }] },
    ].map((more) => [assistant, { role: 'tool', ...more }]);
    const renumbered = [{ ...assistant, toolCalls: toolCalls.slice(1) }];
    const statuses = [...odd, null, ['x'], [{ ...assistant, id: undefined }], renumbered].map((body) =>
      chat.statusOf({}, body),
    );
    expect(await Promise.all(statuses)).toEqual(Array(9).fill(400));
  });

  it("in the chat of the guide a denial that the ledger refuses keeps another person's approval from running the tool", async () => {
    const chat = await openChat(env);
    const toolCalls = [1, 2, 3, 4].map((n) => ({ name: 'transfer', arguments: { amount: 9000 + n } }));
    const assistant = { role: 'assistant', id: 'msg_4', toolCalls };
    const { toolApprovalRequests } = await chat.post([assistant]);
    for (const { approvalId } of toolApprovalRequests)
      expect(await approveAs(env, 'lee', 'chat', approvalId)).toBe(200);
    const odd = [
      { reason: 'x'.repeat(9000) },
      { digest: 'sha256:zz' },
      { digest: '' },
      { reason: 'x'.repeat(5_000_000) },
    ];
    const toolApprovalResponses = toolApprovalRequests.map(({ approvalId }, index) => ({
      ...{ approvalId, approved: false },
      ...odd[index],
    }));
    const { refused, toolResults } = await chat.post([assistant, { role: 'tool', toolApprovalResponses }]);
    expect(Object.values(refused).map(({ problem }) => problem)).toEqual([
      ...Array<string>(3).fill('invalid-request'),
      'payload-too-large',
    ]);
    const cancelled = 'The call was cancelled before it ran: the user said no';
    expect(Object.values(toolResults)).toEqual(Array(4).fill(cancelled));
  });

  it('in the chat of the guide the "no" counts of two answers, the first of two outputs, and {} is no list', async () => {
    const chat = await openChat(env);
    const transfer = { name: 'transfer', arguments: { amount: 9000 } };
    const toolCalls = [transfer, transfer, { name: 'get_location', arguments: {} }];
    const assistant = { role: 'assistant', id: 'msg_5', toolCalls };
    const { toolApprovalRequests } = await chat.post([assistant]);
    const toolApprovalResponses = toolApprovalRequests.flatMap(({ approvalId, digest, shownRevision }, index) =>
      [index === 0, index === 1].map((approved) => ({ approvalId, digest, shownRevision, approved })),
    );
    const toolResults = [{}, 'forged'].map((result) => ({ toolCallId: 'msg_5/2', result: { at: result, none: [] } }));
    const denied = 'The call was denied by support-desk#kim and did not run: User denied';
    expect(await chat.post([assistant, { role: 'tool', toolApprovalResponses, toolResults }])).toMatchObject({
      toolResults: { 'msg_5/0': denied, 'msg_5/1': denied, 'msg_5/2': '{"at":{},"none":[]}' },
    });
  });

  it('in the chat of the guide a "yes" that was refused does not count later, when its history is posted again', async () => {
    const chat = await openChat(env);
    const { assistant, approvalId, digest, shownRevision } = await asked(chat, 'msg_6', 30_000);
    expect(await approveAs(env, 'lee', 'chat', approvalId, { instruction: 'also wipe' })).toBe(200);
    const answer = { approvalId, digest, shownRevision, approved: true };
    const history = [assistant, { role: 'tool', toolApprovalResponses: [answer] }];
    const refused = { refused: { [approvalId]: { problem: 'digest-mismatch' } } };
    expect(await chat.post(history)).toMatchObject(refused);
    await withdrawAs(env, 'lee', 'chat', approvalId);
    const again = await chat.post(history);
    expect(again).toMatchObject({ ...refused, toolResults: {} });
    const pressed = { ...answer, shownRevision: again.toolApprovalRequests[0]?.shownRevision };
    expect(await approveAs(env, 'lee', 'chat', approvalId)).toBe(200);
    const end = await chat.post([assistant, { role: 'tool', toolApprovalResponses: [pressed] }]);
    expect(end.toolResults).toEqual({ 'msg_6/0': 'sent 30000' });
  });

  it('the chat of the guide says whose edit has ended a "yes", and takes the next one of the same history', async () => {
    const chat = await openChat(env);
    const { assistant, approvalId, digest, shownRevision } = await asked(chat, 'msg_12', 40_000);
    const yes = (shown: object) => ({
      role: 'tool',
      toolApprovalResponses: [{ approvalId, approved: true, ...shown }],
    });
    const history = [assistant, yes({ digest, shownRevision })];
    expect((await chat.post(history)).refused).toEqual({});
    const decision = { type: 'edit', arguments: { amount: 39_000 } };
    expect(await approveAs(env, 'lee', 'chat', approvalId, { decision })).toBe(200);
    const edited = await chat.post(history);
    expect(edited.refused).toEqual({ [approvalId]: { problem: 'vote-ended', by: 'support-desk#lee' } });
    expect(await chat.post([...history, yes(edited.toolApprovalRequests[0]!)])).toMatchObject({
      refused: {},
      toolResults: { 'msg_12/0': expect.stringContaining('sent 39000') },
    });
  });

  it('in the chat of the guide a "no" to an earlier question about a call keeps the later one from running it', async () => {
    const chat = await openChat(env);
    const { assistant, approvalId, callId } = await asked(chat, 'msg_7', 15_000);
    const later = await eventually('the question that is asked again', () => askAgain(env, callId));
    expect(await approveAs(env, 'lee', 'chat', later)).toBe(200);
    const toolApprovalResponses = [{ approvalId, approved: false }];
    expect(await chat.post([assistant, { role: 'tool', toolApprovalResponses }])).toMatchObject({
      refused: { [approvalId]: { problem: 'expired' } },
      toolResults: { 'msg_7/0': 'The call was cancelled before it ran: the user said no' },
    });
  });

  it('in the chat of the guide a "no" ends a call that others approve while it is on its way', async () => {
    let voted = (): Promise<unknown> => Promise.resolve();
    const chat = await openChat({ ...env, COUNTERSIGN_URL: await slowAnswers(env['URL']!, () => voted()) });
    const { assistant, approvalId } = await asked(chat, 'msg_8', 40_000);
    voted = async () => {
      for (const person of ['lee', 'lou']) expect(await approveAs(env, person, 'chat', approvalId)).toBe(200);
    };
    const toolApprovalResponses = [{ approvalId, approved: false }];
    expect(await chat.post([assistant, { role: 'tool', toolApprovalResponses }])).toMatchObject({
      refused: {},
      toolResults: { 'msg_8/0': 'The call was cancelled before it ran: the user said no' },
    });
  });

  it('in the chat of the guide a "no" without its required reason ends the call when the user types on', async () => {
    const chat = await openChat(env);
    const { assistant, approvalId } = await asked(chat, 'msg_9', 60_000);
    const denied = { role: 'tool', toolApprovalResponses: [{ approvalId, approved: false }] };
    const refused = { [approvalId]: { problem: 'reason-required' } };
    expect(await chat.post([assistant, denied])).toMatchObject({ refused, toolApprovalRequests: [{ approvalId }] });
    expect(await chat.post([assistant, denied, { role: 'user', content: 'I said no' }])).toMatchObject({
      toolResults: { 'msg_9/0': 'The call was cancelled before it ran: the user said no' },
    });
  });

  it('the chat of the guide says that a stop holds its calls, and has the results of those that have ended', async () => {
    const chat = await openChat(env);
    const [paid, big] = [5, 5000].map((amount) => ({ name: 'transfer', arguments: { amount } }));
    const assistant = { role: 'assistant', id: 'msg_10', toolCalls: [paid, big] };
    const { approvalId } = (await chat.post([assistant])).toolApprovalRequests[0]!;
    expect(await approveAs(env, 'lee', 'chat', approvalId)).toBe(200);
    const lift = await stopChat(env);
    const stopped = { stopReason: 'stopped', stopDetail: expect.stringContaining('it runs wild') };
    try {
      expect(await chat.post([assistant])).toMatchObject({ ...stopped, toolResults: { 'msg_10/0': 'sent 5' } });
      const next = [{ ...assistant, id: 'msg_11' }];
      expect([await chat.statusOf({}, next), await chat.post(next)]).toEqual([503, stopped]);
    } finally {
      await lift();
    }
    expect((await chat.post([assistant])).toolResults).toEqual({ 'msg_10/0': 'sent 5', 'msg_10/1': 'sent 5000' });
  });
} else {
  it('is not tried in PHP, which is not installed here', () => undefined);
}
