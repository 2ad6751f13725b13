// The stream to the browser broke between `tool-input-available` and what comes after it.
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  convertToModelMessages,
  isToolUIPart,
  readUIMessageStream,
  streamText,
  toUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
} from 'ai';
import { convertArrayToReadableStream } from 'ai/test';
import { scriptedModel } from '../conformance/scripted-model.js';
import { ran, tools } from '../conformance/tools.js';
import { gateTools } from './gate-tools.js';

const closers: (() => Promise<void>)[] = [];
const turns = [[{ toolCallId: 'c1', toolName: 'refund', arguments: { amount: 50 } }]];
const user = (id: string): UIMessage => ({ id, role: 'user', parts: [{ type: 'text', text: 'go' }] });

afterEach(async () => {
  ran.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

/** A browser that got no more than the input of the call. `isRequested` false: the ledger did not hear of it either. */
async function broken({ isRequested = true, needsApproval = true } = {}) {
  const countersign = createFakeCountersign();
  const options = { url: 'http://fake.test', token: 't', agentId: 'a', fetch: countersign.fetch };
  const gate = gateTools(options, tools, { refund: { needsApproval } });
  closers.push(gate.close);
  const run = gate.run('run');
  const script = scriptedModel(turns);
  const request = async (messages: UIMessage[]) => {
    const errors: unknown[] = [];
    const { stream } = streamText({
      model: script.model,
      tools: run.tools,
      toolApproval: run.toolApproval,
      messages: await convertToModelMessages(messages, { tools: run.tools }),
      onError: ({ error }) => void errors.push(error),
    });
    const chunks: UIMessageChunk[] = [];
    for await (const chunk of toUIMessageStream({ stream, originalMessages: messages })) chunks.push(chunk);
    expect(errors).toEqual([]);
    return chunks;
  };
  const chunks = await request([user('u1')]);
  const received = chunks.slice(0, chunks.findIndex(({ type }) => type === 'tool-input-available') + 1);
  let message: UIMessage | undefined;
  for await (const next of readUIMessageStream({ stream: convertArrayToReadableStream(received) })) message = next;
  const messages = [user('u1'), { ...message!, id: 'a1' }];
  expect(partIn(messages)).toMatchObject({ state: 'input-available', input: { amount: 50 } });
  const other = isRequested ? run : gate.run('another run');
  return { countersign, run: other, script, request, messages };
}

const partIn = (messages: readonly UIMessage[]) => messages.flatMap(({ parts }) => parts).find(isToolUIPart);

describe('a part that the browser lost the question of', () => {
  it('shows that it waits for people, and runs once after the approval', async () => {
    const { countersign, run, script, request, messages } = await broken();
    const waiting = await run.resumeUI(messages);
    expect(waiting.pending).toMatchObject([{ toolCallId: 'c1' }]);
    expect(partIn(waiting.messages)).toMatchObject({ state: 'approval-requested' });
    countersign.approve('c1');
    for (const stored of [waiting.messages, messages]) await request((await run.resumeUI(stored)).messages);
    expect(script.told()).toEqual({ c1: '{"refunded":50}' });
    expect(ran).toEqual([50]);
  });

  it('has the reason of a denial', async () => {
    const { countersign, run, script, request, messages } = await broken();
    countersign.deny('c1', { reason: 'too much' });
    await request((await run.resumeUI(messages)).messages);
    expect(script.told()['c1']).toMatch(/was denied by me and did not run: too much/);
  });

  it('is cancelled when the user writes, and the model is told', async () => {
    const { countersign, run, script, request, messages } = await broken();
    const resumed = await run.resumeUI([...messages, user('u2')]);
    expect(partIn(resumed.messages)).toMatchObject({ state: 'output-denied' });
    await request(resumed.messages);
    expect(script.told()['c1']).toMatch(/cancelled before it ran/);
    expect(countersign.callOf('c1').state).toBe('cancelled');
  });
});

describe('a part that the browser lost the output of', () => {
  it('gets the recorded output, and the tool does not run again', async () => {
    const { run, script, request, messages } = await broken({ needsApproval: false });
    expect(ran).toEqual([50]);
    await request((await run.resumeUI(messages)).messages);
    expect(script.told()).toEqual({ c1: '{"refunded":50}' });
    expect(ran).toEqual([50]);
  });
});

describe('a part of a call that was never requested', () => {
  it('is an error, and the conversation goes on', async () => {
    const { run, script, request, messages } = await broken({ isRequested: false });
    const { messages: resumed, pending } = await run.resumeUI(messages);
    expect(pending).toEqual([]);
    expect(partIn(resumed)).toMatchObject({ state: 'output-error' });
    await request(resumed);
    expect(script.told()['c1']).toBe('The call c1 did not run: it was never requested in Countersign.');
    expect(ran).toEqual([]);
  });
});
