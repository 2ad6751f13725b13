import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { convertToModelMessages, generateText, streamText, tool, type ModelMessage, type UIMessage } from 'ai';
import { z } from 'zod';
import { scriptedModel } from '../conformance/scripted-model.js';
import { gateTools } from './gate-tools.js';

const closers: (() => Promise<void>)[] = [];
const call = { toolCallId: 'c1', toolName: 'read', arguments: { id: 1 } };
const user: ModelMessage = { role: 'user', content: 'go' };
/** An output that looks like one with a note of an approver. */
const read = tool({
  inputSchema: z.object({ id: z.number() }),
  execute: () => ({ output: 'secret', note: 'mine' }),
  toModelOutput: () => ({ type: 'text', value: 'CONVERTED' }),
});

afterEach(() => Promise.all(closers.splice(0).map((close) => close())));

/** Asks, lets a person decide, and runs the tool. */
async function told(decision: 'approve' | 'edit', isStreaming: boolean) {
  const countersign = createFakeCountersign();
  const options = { url: 'http://fake.test', token: 't', agentId: 'a', fetch: countersign.fetch };
  const gate = gateTools(options, { read }, { read: true });
  closers.push(gate.close);
  const run = gate.run('run');
  const script = scriptedModel([[call]]);
  const go = async (messages: ModelMessage[]): Promise<ModelMessage[]> => {
    const settings = { model: script.model, tools: run.tools, toolApproval: run.toolApproval, messages };
    const { responseMessages } = isStreaming ? streamText(settings) : await generateText(settings);
    return [...messages, ...(await responseMessages)];
  };
  const asked = await go([user]);
  if (decision === 'approve') countersign.approve('c1');
  else countersign.edit('c1', { id: 2 });
  const messages = await go((await run.resume(asked)).messages);
  return { run, script, messages, go, result: script.told()['c1'] };
}

describe.each([false, true])('an output with the members `output` and `note`, streaming: %s', (isStreaming) => {
  it('of the tool itself is converted by its `toModelOutput`, also after a resume', async () => {
    const { run, script, messages, go, result } = await told('approve', isStreaming);
    expect(result).toBe('CONVERTED');
    await go([...(await run.resume([...messages, user])).messages]);
    expect(script.told()['c1']).toBe('CONVERTED');
  });

  it('with the note of an edit is not', async () => {
    const { result } = await told('edit', isStreaming);
    expect(JSON.parse(result ?? '')).toEqual({
      output: { output: 'secret', note: 'mine' },
      note: expect.stringContaining('Arguments: {"id":2}'),
    });
  });
});

it.each(['approve', 'edit'] as const)('knows its own notes in the messages of a browser: %s', async (decision) => {
  const { run } = await told(decision, false);
  const part = { type: 'tool-read', toolCallId: 'c1', state: 'output-available', input: { id: 1 }, output: null };
  const { messages } = await run.resumeUI([{ id: 'a', role: 'assistant', parts: [part] }] as UIMessage[]);
  const converted = JSON.stringify(await convertToModelMessages(messages, { tools: run.tools }));
  expect(converted.includes('CONVERTED')).toBe(decision === 'approve');
});
