// A step with a gated tool and a tool with the framework's own approval.
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  convertToModelMessages,
  generateText,
  isStepCount,
  tool,
  type ModelMessage,
  type ToolModelMessage,
  type UIMessage,
} from 'ai';
import { z } from 'zod';
import { scriptedModel, type ScriptedCall } from '../conformance/scripted-model.js';
import { gateTools } from './gate-tools.js';

const ran: string[] = [];
const closers: (() => Promise<void>)[] = [];
const inputSchema = z.strictObject({ id: z.string() });
const own = { needsApproval: true };
const mail = tool({ inputSchema, execute: ({ id }) => ran.push(`mail ${id}`) });
const tools = {
  refund: tool({ inputSchema, execute: ({ id }) => ran.push(`refund ${id}`) }),
  mail: { ...mail, ...own } as typeof mail,
  lookup: tool({ inputSchema, execute: ({ id }) => ran.push(`lookup ${id}`) }),
};
const callOf = (name: string): ScriptedCall => {
  const [toolName = '', id = ''] = name.split(' ');
  return { toolCallId: name, toolName, arguments: { id } };
};

/** A host that answers the framework's own approvals itself. */
function hostOf(...turns: readonly (readonly string[])[]) {
  const countersign = createFakeCountersign();
  const options = { url: 'http://fake.test', token: 't', agentId: 'a', fetch: countersign.fetch };
  const gate = gateTools(options, tools, { refund: true });
  closers.push(gate.close);
  const script = scriptedModel(turns.map((turn) => turn.map(callOf)));
  const run = gate.run('run');
  const generate = async (messages: ModelMessage[]): Promise<ModelMessage[]> => {
    const result = generateText({ model: script.model, ...run, messages, stopWhen: isStepCount(9) });
    return [...messages, ...(await result).responseMessages];
  };
  return { countersign, script, run, generate };
}

/** The host's answer about one of its own tools. */
function answer(messages: readonly ModelMessage[], toolCallId: string, approved = true): ToolModelMessage {
  const parts = messages.flatMap(({ role, content }) =>
    role !== 'assistant' || typeof content === 'string' ? [] : content,
  );
  const asked = parts.findLast((part) => part.type === 'tool-approval-request' && part.toolCallId === toolCallId);
  if (asked?.type !== 'tool-approval-request') throw new Error(`${toolCallId} is not asked about`);
  const { approvalId } = asked;
  return {
    role: 'tool',
    content: [{ type: 'tool-approval-response', approvalId, approved, reason: 'the host says so' }],
  };
}

afterEach(async () => {
  ran.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

const user: ModelMessage = { role: 'user', content: 'go' };
const orders = [
  ['refund 1', 'mail 1'],
  ['mail 1', 'refund 1'],
  ['lookup 1', 'mail 1', 'refund 1', 'mail 2', 'refund 2'],
  ['refund 2', 'mail 2', 'refund 1', 'lookup 1', 'mail 1'],
];
const idsOf = (order: readonly string[], name: string): readonly string[] => order.filter((id) => id.startsWith(name));

describe.each(orders.map((order) => [order]))('a step with the calls %j', (order) => {
  it('runs each call once when the host answers before `resume`, in one message or in several', async () => {
    for (const inOne of [true, false]) {
      const { countersign, run, generate, script } = hostOf(order);
      const paused = await generate([user]);
      const answers = idsOf(order, 'mail').map((id) => answer(paused, id));
      const together: ToolModelMessage = { role: 'tool', content: answers.flatMap(({ content }) => content) };
      for (const id of idsOf(order, 'refund')) countersign.approve(id);
      const resumed = await run.resume([...paused, ...(inOne ? [together] : answers)]);
      expect(resumed.pending).toEqual([]);
      await generate(resumed.messages);
      expect(ran.toSorted()).toEqual(order.toSorted());
      expect(Object.keys(script.told()).toSorted()).toEqual(order.toSorted());
      ran.length = 0;
    }
  });

  it('runs what is approved on either side, and tells the model of both denials', async () => {
    const { countersign, run, generate, script } = hostOf(order);
    const paused = await generate([user]);
    countersign.deny('refund 1', { reason: 'not today' });
    for (const id of idsOf(order, 'refund').filter((id) => id !== 'refund 1')) countersign.approve(id);
    const answers = idsOf(order, 'mail').map((id) => answer(paused, id, id !== 'mail 1'));
    await generate((await run.resume([...paused, ...answers])).messages);
    expect(ran.toSorted()).toEqual(order.filter((id) => id !== 'refund 1' && id !== 'mail 1').toSorted());
    expect(script.told()['refund 1']).toContain('not today');
    expect(script.told()['mail 1']).toContain('the host says so');
  });
});

describe('a step that waits for people longer than for the host', () => {
  it('keeps the answer of the host through several pauses, and a second step pauses anew', async () => {
    const { countersign, run, generate, script } = hostOf(['refund 1', 'mail 1'], ['mail 2', 'refund 2']);
    const paused = await generate([user]);
    const waiting = await run.resume([...paused, answer(paused, 'mail 1')]);
    expect(waiting.pending).toMatchObject([{ toolCallId: 'refund 1' }]);
    countersign.approve('refund 1');
    const second = await generate((await run.resume(waiting.messages)).messages);
    expect(ran.toSorted()).toEqual(['mail 1', 'refund 1']);
    const still = await run.resume([...second, answer(second, 'mail 2', false)]);
    expect(still.pending).toMatchObject([{ toolCallId: 'refund 2' }]);
    countersign.approve('refund 2');
    await generate((await run.resume(still.messages)).messages);
    expect(ran.toSorted()).toEqual(['mail 1', 'refund 1', 'refund 2']);
    expect(script.told()['mail 2']).toContain('the host says so');
  });

  it('runs each call once when the host answers after `resume`, and resumes again', async () => {
    const { countersign, run, generate } = hostOf(['refund 1', 'mail 1']);
    const paused = await generate([user]);
    countersign.approve('refund 1');
    const { messages } = await run.resume(paused);
    await generate((await run.resume([...messages, answer(paused, 'mail 1')])).messages);
    expect(ran.toSorted()).toEqual(['mail 1', 'refund 1']);
  });

  it('does not run a call of the host again whose result is in the messages', async () => {
    const { countersign, run, generate } = hostOf(['refund 1', 'mail 1']);
    const paused = await generate([user]);
    countersign.approve('refund 1');
    const value = { type: 'text', value: 'sent' } as const;
    const result = { type: 'tool-result', toolCallId: 'mail 1', toolName: 'mail', output: value } as const;
    const answered: ModelMessage[] = [...paused, answer(paused, 'mail 1'), { role: 'tool', content: [result] }];
    await generate((await run.resume(answered)).messages);
    expect(ran).toEqual(['refund 1']);
  });
});

it('a conversation of `useChat` runs each call once', async () => {
  const { countersign, run, script } = hostOf(['refund 1', 'mail 1']);
  const first = await generateText({ model: script.model, ...run, messages: [user] });
  const parts = first.toolCalls.map(({ toolCallId, toolName, input }) => {
    const isOurs = toolName === 'refund';
    const approval = { id: `approval of ${toolCallId}`, ...(isOurs ? {} : { approved: true }) };
    const state = isOurs ? 'approval-requested' : 'approval-responded';
    return { type: `tool-${toolName}`, toolCallId, input, state, approval };
  });
  const chat = [
    { id: '1', role: 'user', parts: [{ type: 'text', text: 'go' }] },
    { id: '2', role: 'assistant', parts },
  ] as UIMessage[];
  countersign.approve('refund 1');
  const { messages } = await run.resumeUI(chat);
  const model = await convertToModelMessages(messages, { tools: run.tools });
  await generateText({ model: script.model, ...run, messages: model, stopWhen: isStepCount(9) });
  expect(ran.toSorted()).toEqual(['mail 1', 'refund 1']);
});
