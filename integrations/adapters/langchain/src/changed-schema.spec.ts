// The schema of a tool changes, by a deploy, while a thread waits, or after its tool has run and the process has crashed.
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { tool } from '@langchain/core/tools';
import { Command, MemorySaver } from '@langchain/langgraph';
import { createAgent } from 'langchain';
import { z } from 'zod';
import { gateTools, type Gate } from './gate-tools.js';

const ran: unknown[] = [];
const gates: Gate[] = [];
const thread = { configurable: { thread_id: 'thread-1' } };
const go = { messages: [new HumanMessage('go')] };
const log = { warn: () => undefined, error: () => undefined };
const before = z.object({ a: z.number() });
const call = { name: 'pay', args: { a: 1 }, id: 'c1' };

afterEach(async () => {
  ran.length = 0;
  await Promise.all(gates.splice(0).map((gate) => gate.close()));
});

function processOn({ fetch }: FakeCountersign, checkpointer: MemorySaver, schema: z.ZodObject) {
  const pay = tool(
    (args) => {
      ran.push(args);
      return 'paid';
    },
    { name: 'pay', schema },
  );
  const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a', tools: [pay], fetch, log });
  gates.push(gate);
  const model = fakeModel();
  const agent = createAgent({ model, tools: gate.tools, checkpointer });
  return { gate, model, agent };
}

async function paused(after: z.ZodObject) {
  const countersign = createFakeCountersign();
  const checkpointer = new MemorySaver();
  const first = processOn(countersign, checkpointer, before);
  first.model.respond(new AIMessage({ content: '', tool_calls: [call] }));
  await first.agent.invoke(go, thread);
  const second = processOn(countersign, checkpointer, after);
  second.model.respond(new AIMessage('done'));
  const resume = async () => {
    const { messages } = await second.agent.invoke(new Command({ resume: 1 }), thread);
    return messages.flatMap((one) => (ToolMessage.isInstance(one) ? one.text : []));
  };
  /** The process crashes before it stores the result. */
  const run = () =>
    first.gate.worker.call({ runId: 'thread-1', toolCallId: 'c1', toolName: 'pay', arguments: call.args });
  return { countersign, resume, run };
}

describe.each([
  ['a default is added', z.object({ a: z.number(), b: z.number().default(7) })],
  ['a required member is added', z.object({ a: z.number(), b: z.number() })],
  ['a type changes', z.object({ a: z.string() })],
] as const)('when %s', (_, after) => {
  it('the model gets the result of the call that has run', async () => {
    const { countersign, resume, run } = await paused(after);
    countersign.approve('c1');
    await run();
    expect(await resume()).toEqual(['paid']);
    expect(ran).toEqual([{ a: 1 }]);
  });

  it('a pending call waits on, and fails after its approval', async () => {
    const { countersign, resume } = await paused(after);
    expect(await resume()).toEqual([]);
    countersign.approve('c1');
    expect(await resume()).toEqual([
      expect.stringContaining('The input schema of pay is not the one that was approved'),
    ]);
    expect(countersign.callOf('c1').error).toMatchObject({ code: 'tool-schema-changed' });
    expect(ran).toEqual([]);
  });

  it('the model hears of the denial', async () => {
    const { countersign, resume } = await paused(after);
    countersign.deny('c1', { reason: 'not today' });
    expect(await resume()).toEqual([expect.stringContaining('not today')]);
  });
});

it('a new call with invalid arguments is answered by the framework as before', async () => {
  const countersign = createFakeCountersign();
  const { model, agent } = processOn(countersign, new MemorySaver(), z.object({ a: z.string() }));
  model.respond(new AIMessage({ content: '', tool_calls: [call] })).respond(new AIMessage('done'));
  const { messages } = await agent.invoke(go, thread);
  const told = messages.find((one) => ToolMessage.isInstance(one));
  expect(told?.text).toMatch(/Received tool input did not match expected schema/);
  expect(() => countersign.callOf('c1')).toThrow();
});

it('a call is not said to be without effect when another one is recorded with its id', async () => {
  const countersign = createFakeCountersign();
  const { gate, model, agent } = processOn(countersign, new MemorySaver(), before);
  await gate.worker.ask({ runId: 'thread-1', toolCalls: [{ toolCallId: 'c1', toolName: 'pay', arguments: { a: 2 } }] });
  model.respond(new AIMessage({ content: '', tool_calls: [call] })).respond(new AIMessage('done'));
  const { messages } = await agent.invoke(go, thread);
  const told = messages.find((one) => ToolMessage.isInstance(one))?.text;
  expect(told).toMatch(
    /^The call has no result: another one is recorded with its id, and may have run: .*tool-call-mismatch/,
  );
  expect(told).not.toMatch(/did not run|make it again/);
});
