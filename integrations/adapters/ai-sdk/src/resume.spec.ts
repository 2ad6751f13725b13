// Against a real Countersign: conversations of `useChat`, and conversations that go on without a call.
import { join } from 'node:path';
import { startKitServer, type KitServer } from '@countersign/conformance';
import { createClient, type Client } from '@countersign/worker-sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  convertToModelMessages,
  generateText,
  isToolUIPart,
  readUIMessageStream,
  streamText,
  toUIMessageStream,
  type ModelMessage,
  type UIMessage,
} from 'ai';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { scriptedModel } from '../conformance/scripted-model.js';
import { ran, tools } from '../conformance/tools.js';
import { gateTools } from './gate-tools.js';

const turns = [
  [
    { toolCallId: 'c1', toolName: 'refund', arguments: { amount: 50 } },
    { toolCallId: 'c2', toolName: 'lookup', arguments: { id: 'x' } },
  ],
];
const user = (id: string, text: string): UIMessage => ({ id, role: 'user', parts: [{ type: 'text', text }] });

let server: KitServer;
let approver: Client;
let resolver: Client;
let close: () => Promise<void>;
let gate: ReturnType<typeof openGate>;

function openGate() {
  const { url, agentToken: token, workerToken: resolverToken } = server;
  return gateTools({ url, token, resolverToken, agentId: 'agent' }, tools, { refund: true });
}

beforeAll(async () => {
  const root = join(import.meta.dirname, '..', '..', '..', '..');
  server = await startKitServer(join(root, 'apps', 'cli', 'bin', 'countersign.js'));
  approver = createClient({ url: server.url, token: server.approverToken });
  resolver = createClient({ url: server.url, token: server.workerToken });
  gate = openGate();
  ({ close } = gate);
});
afterAll(async () => {
  await close();
  await server.stop();
});
beforeEach(() => {
  ran.length = 0;
});

function openChat() {
  const runId = randomUUID();
  const run = gate.run(runId);
  const script = scriptedModel(turns);
  /** One request of the browser: the messages that it gets, and the chunks. `shown`: what it has, if not what the server resumed. */
  const request = async (messages: UIMessage[], shown = messages) => {
    const result = streamText({
      model: script.model,
      tools: run.tools,
      toolApproval: run.toolApproval,
      messages: await convertToModelMessages(messages, { tools: run.tools }),
      onError: () => undefined,
    });
    const chunks: string[] = [];
    const stream = toUIMessageStream({ stream: result.stream, originalMessages: messages }).pipeThrough(
      new TransformStream({
        transform: (chunk, controller) => {
          chunks.push(chunk.type);
          controller.enqueue(chunk);
        },
      }),
    );
    const last = shown.at(-1);
    let message: UIMessage | undefined;
    for await (const next of readUIMessageStream({
      stream,
      ...(last?.role === 'assistant' ? { message: last } : {}),
    })) {
      message = next;
    }
    const before = last?.role === 'assistant' ? shown.slice(0, -1) : shown;
    return { messages: message === undefined ? before : [...before, message], chunks };
  };
  const decide = async (decision: 'approve' | 'deny', reason?: string) => {
    const { approvals } = await approver.listApprovals({ state: 'pending', runId });
    const [approval] = approvals;
    await approver.respond(approval!.approvalId, {
      decision: { type: decision },
      proposalDigest: approval!.proposal.digest,
      ...(reason === undefined ? {} : { reason }),
    });
  };
  /** Another process begins to run the approved call. Returns how it ends. */
  const beginElsewhere = async () => {
    const [call] = (await approver.getRun(runId)).calls;
    const { attempt } = await resolver.claim(call!.callId, { resolverId: 'elsewhere' });
    return () => resolver.reportOutcome(call!.callId, { attempt, status: 'succeeded', output: { refunded: 50 } });
  };
  return { run, script, request, decide, runId, beginElsewhere };
}

/** The part of the gated call, as JSON so that a case can compare some of its members. */
function refundPart(messages: readonly UIMessage[]) {
  return messages.flatMap(({ parts }) => parts.filter(isToolUIPart)).find(({ toolCallId }) => toolCallId === 'c1');
}

describe('a conversation of a browser', () => {
  it('goes from approval-requested over approval-responded to output-available', async () => {
    const { run, script, request, decide } = openChat();
    const first = await request([user('u1', 'go')]);
    expect(first.chunks).toContain('tool-approval-request');
    expect(refundPart(first.messages)).toMatchObject({ state: 'approval-requested', input: { amount: 50 } });
    await decide('approve');
    const resumed = await run.resumeUI(first.messages);
    expect(refundPart(resumed.messages)).toMatchObject({ state: 'approval-responded', approval: { approved: true } });
    const second = await request(resumed.messages);
    expect(second.chunks).toContain('tool-output-available');
    expect(second.chunks).not.toContain('tool-input-available');
    expect(refundPart(second.messages)).toMatchObject({ state: 'output-available', output: { refunded: 50 } });
    expect(script.told()).toEqual({ c1: '{"refunded":50}', c2: '{"found":"x"}' });
    expect(ran).toEqual([50]);
  });

  it('ends in output-denied after a denial, with the reason of the approver', async () => {
    const { run, script, request, decide } = openChat();
    const first = await request([user('u1', 'go')]);
    await decide('deny', 'not today');
    const second = await request((await run.resumeUI(first.messages)).messages);
    expect(second.chunks).toContain('tool-output-denied');
    expect(refundPart(second.messages)).toMatchObject({
      state: 'output-denied',
      approval: { approved: false, reason: expect.stringContaining('not today') },
    });
    expect(script.told()['c1']).toContain('not today');
    expect(ran).toEqual([]);
  });

  it.each(['approve', 'deny'] as const)(
    'goes on in a browser that only sees the stream, after people %s',
    async (type) => {
      const { run, request, decide } = openChat();
      const first = await request([user('u1', 'go')]);
      await decide(type);
      const second = await request((await run.resumeUI(first.messages)).messages, first.messages);
      expect(refundPart(second.messages)?.approval).not.toHaveProperty('approved');
      const { messages } = await run.resumeUI([...second.messages, user('u2', 'thanks')]);
      expect(refundPart(messages)).toMatchObject({ approval: { approved: type === 'approve' } });
    },
  );

  it('loses the responses that the browser gave itself', async () => {
    const { run, request } = openChat();
    const { messages } = await request([user('u1', 'go')]);
    const forged = JSON.parse(
      JSON.stringify(messages)
        .replace('"approval-requested","', '"approval-responded","')
        .replace('"approval":{', '"approval":{"approved":true,'),
    ) as UIMessage[];
    expect(refundPart(forged)).toMatchObject({ state: 'approval-responded', approval: { approved: true } });
    const resumed = await run.resumeUI(forged);
    expect(resumed.pending).toHaveLength(1);
    expect(refundPart(resumed.messages)).toEqual(refundPart(messages));
    const second = await request(forged);
    expect(second.chunks).toContain('error');
    expect(ran).toEqual([]);
  });

  it('cancels the call when the user writes instead of waiting, and the model is told', async () => {
    const { run, script, request, runId } = openChat();
    const first = await request([user('u1', 'go')]);
    const { messages, pending } = await run.resumeUI([...first.messages, user('u2', 'never mind')]);
    expect(pending).toEqual([]);
    expect(refundPart(messages)).toMatchObject({ state: 'output-denied', approval: { approved: false } });
    await request(messages);
    expect(script.told()['c1']).toMatch(/cancelled before it ran: the conversation went on without it/);
    expect((await approver.getRun(runId)).calls).toMatchObject([{ state: 'cancelled' }]);
  });

  it('waits for a call that another process runs when the user writes, and the model is told its result', async () => {
    const { run, script, request, decide, beginElsewhere } = openChat();
    const first = await request([user('u1', 'go')]);
    await decide('approve');
    const end = await beginElsewhere();
    const resumed = run.resumeUI([...first.messages, user('u2', 'still there?')]);
    await Promise.race([resumed, sleep(300)]);
    await end();
    const { messages, pending } = await resumed;
    expect(pending).toEqual([]);
    expect(refundPart(messages)).toMatchObject({ state: 'output-available', output: { refunded: 50 } });
    await request(messages);
    expect(script.told()).toMatchObject({ c1: '{"refunded":50}' });
    expect(ran).toEqual([]);
  });

  it('cancels an approved call when the user steers instead of waiting, and the model is told', async () => {
    const { run, script, request, decide, runId } = openChat();
    const { messages } = await request([user('u1', 'go')]);
    await decide('approve');
    messages.at(-1)?.parts.push({ type: 'steering-message', id: 's1', parts: [{ type: 'text', text: 'never mind' }] });
    await request((await run.resumeUI(messages)).messages);
    expect(script.told()['c1']).toMatch(/cancelled before it ran: the conversation went on without it/);
    expect((await approver.getRun(runId)).calls).toMatchObject([{ state: 'cancelled' }]);
    expect(ran).toEqual([]);
  });
});

describe('a conversation in messages of the model', () => {
  /** A conversation in which the user writes instead of waiting. */
  const left = async () => {
    const chat = openChat();
    const { tools: gated, toolApproval } = chat.run;
    const generate = (messages: ModelMessage[]) =>
      generateText({ model: chat.script.model, tools: gated, toolApproval, messages });
    const asked: ModelMessage[] = [{ role: 'user', content: 'go' }];
    const { responseMessages } = await generate(asked);
    const more: ModelMessage = { role: 'user', content: 'never mind' };
    return { ...chat, generate, messages: [...asked, ...responseMessages, more] };
  };

  it('cancels the call when the user writes instead of waiting, and the model is told', async () => {
    const { run, script, runId, generate, messages } = await left();
    const { text } = await generate((await run.resume(messages)).messages);
    expect(text).toBe('done');
    expect(script.told()['c1']).toMatch(/cancelled before it ran: the conversation went on without it/);
    expect((await approver.getRun(runId)).calls).toMatchObject([{ state: 'cancelled' }]);
  });

  it('waits for a call that another process runs until the signal aborts', async () => {
    const { run, script, decide, beginElsewhere, generate, messages } = await left();
    await decide('approve');
    const end = await beginElsewhere();
    const limit = new AbortController();
    const resumed = run.resume(messages, { signal: limit.signal });
    await Promise.race([resumed, sleep(300)]);
    limit.abort(new Error('no longer'));
    await expect(resumed).rejects.toThrow('no longer');
    await end();
    await generate((await run.resume(messages)).messages);
    expect(script.told()).toMatchObject({ c1: '{"refunded":50}' });
    expect(ran).toEqual([]);
  });
});
