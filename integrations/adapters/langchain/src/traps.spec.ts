// Behaviour of the framework that would make a thread unusable, or would lose a call.
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { tool, type StructuredToolInterface } from '@langchain/core/tools';
import { Command, MemorySaver } from '@langchain/langgraph';
import { createAgent } from 'langchain';
import { z } from 'zod';
import { gateTools, type Gate } from './gate-tools.js';

const ran: unknown[] = [];
const gates: Gate[] = [];
const thread = { configurable: { thread_id: 'thread-1' } };
const say = (text: string) => ({ messages: [new HumanMessage(text)] });
const toolNamed = (name: string, schema: z.ZodObject): StructuredToolInterface =>
  tool(
    (args) => {
      ran.push(args);
      return { done: name };
    },
    { name, schema },
  );

afterEach(async () => {
  ran.length = 0;
  await Promise.all(gates.splice(0).map((gate) => gate.close()));
});

function agentOn(countersign: FakeCountersign, ...toolCalls: { name: string; args: object; id: string }[]) {
  const { fetch } = countersign;
  const refund = toolNamed('refund', z.strictObject({ amount: z.int() }));
  const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a', tools: [refund], fetch });
  gates.push(gate);
  const lookup = toolNamed('lookup', z.strictObject({ id: z.string() }));
  const model = fakeModel().respond(new AIMessage({ content: '', tool_calls: toolCalls }));
  for (let answer = 0; answer < 3; answer += 1) model.respond(new AIMessage('done'));
  const tools: readonly StructuredToolInterface[] = [...gate.tools, lookup];
  const agent = createAgent({ model, tools: [...tools], checkpointer: new MemorySaver() });
  return { gate, agent };
}

const refundCall = (id = 'c1', amount = 50) => ({ name: 'refund', args: { amount }, id });
const lookupCall = { name: 'lookup', args: { id: 'x' }, id: 'c2' };
const resultsIn = (messages: readonly BaseMessage[]): Record<string, string> =>
  Object.fromEntries(messages.flatMap((one) => (ToolMessage.isInstance(one) ? [[one.tool_call_id, one.text]] : [])));

describe('a thread', () => {
  it('continues after the approval although the client sent a wrong array of decisions', async () => {
    const countersign = createFakeCountersign();
    const { agent } = agentOn(countersign, refundCall());
    await agent.invoke(say('go'), thread);
    const wrong = { decisions: [{ type: 'approve' }, { type: 'approve' }, { type: 'postpone' }] };
    await agent.invoke(new Command({ resume: wrong }), thread);
    countersign.approve('c1');
    const { messages } = await agent.invoke(new Command({ resume: wrong }), thread);
    expect(resultsIn(messages)).toEqual({ c1: '{"done":"refund"}' });
    expect(ran).toEqual([{ amount: 50 }]);
  });

  it.each([null, undefined])('cannot be resumed with %s: LangGraph takes it for no command', async (resume) => {
    const countersign = createFakeCountersign();
    const { agent } = agentOn(countersign, refundCall());
    await agent.invoke(say('go'), thread);
    countersign.approve('c1');
    await expect(agent.invoke(new Command({ resume }), thread)).rejects.toThrow('empty Command input');
    await agent.invoke(new Command({ resume: false }), thread);
    expect(ran).toEqual([{ amount: 50 }]);
  });

  it('has one result for each call of a turn with an approval, a denial and a free tool', async () => {
    const countersign = createFakeCountersign();
    const { agent } = agentOn(countersign, refundCall('c1'), lookupCall, refundCall('c3', 70));
    await agent.invoke(say('go'), thread);
    countersign.deny('c1', { reason: 'too much' });
    countersign.approve('c3');
    const { messages } = await agent.invoke(new Command({ resume: 1 }), thread);
    expect(messages.filter((one) => ToolMessage.isInstance(one))).toHaveLength(3);
    expect(resultsIn(messages)).toEqual({
      c1: expect.stringContaining('too much'),
      c2: '{"done":"lookup"}',
      c3: '{"done":"refund"}',
    });
    expect(ran).toEqual([{ id: 'x' }, { amount: 70 }]);
  });

  it('drops the pause when the user writes, and the call does not run after `cancelRun`', async () => {
    const countersign = createFakeCountersign();
    const { agent, gate } = agentOn(countersign, refundCall());
    await agent.invoke(say('go'), thread);
    await agent.invoke(say('never mind'), thread);
    await gate.worker.cancelRun('thread-1', 'the conversation went on without it');
    expect(countersign.callOf('c1').state).toBe('cancelled');
    await agent.invoke(new Command({ resume: 1 }), thread);
    expect(ran).toEqual([]);
  });
});
