// A graph of LangGraph with a `ToolNode`. LangGraph repeats a whole node when it resumes.
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { AIMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import { tool, type StructuredToolInterface } from '@langchain/core/tools';
import { Command, END, MemorySaver, MessagesAnnotation, Send, START, StateGraph } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { z } from 'zod';
import { gateTools, type Gate } from './gate-tools.js';

const ran: string[] = [];
const gates: Gate[] = [];
const toolNamed = (name: string) =>
  tool(
    ({ amount }) => {
      ran.push(name);
      return { [name]: amount };
    },
    { name, schema: z.strictObject({ amount: z.int() }) },
  );
const refund = toolNamed('refund');
const lookup = toolNamed('lookup');

function gateOver({ fetch }: FakeCountersign, tools = [refund], options = {}): Gate {
  const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a', tools, options, fetch });
  gates.push(gate);
  return gate;
}

const call = (name: string, id: string) => ({ name, args: { amount: 50 }, id });
const turn = (...calls: ReturnType<typeof call>[]) => ({
  messages: [new AIMessage({ content: '', tool_calls: calls })],
});
const both = turn(call('lookup', 'c2'), call('refund', 'c1'));
const thread = { configurable: { thread_id: 'thread-1' } };

/** `route`: how the calls of the last message reach the tools. */
function graphOf(tools: StructuredToolInterface[], route?: (state: typeof MessagesAnnotation.State) => Send[]) {
  const graph = new StateGraph(MessagesAnnotation).addNode('tools', new ToolNode(tools)).addEdge('tools', END);
  const routed = route === undefined ? graph.addEdge(START, 'tools') : graph.addConditionalEdges(START, route);
  return routed.compile({ checkpointer: new MemorySaver() });
}

/** Resumes once while the person has not decided, and once after the approval. */
async function resumedTwice(graph: ReturnType<typeof graphOf>, countersign: FakeCountersign) {
  await graph.invoke(both, thread);
  await graph.invoke(new Command({ resume: 1 }), thread);
  countersign.approve('c1');
  const { messages } = await graph.invoke(new Command({ resume: 1 }), thread);
  expect(resultsIn(messages)).toEqual({ c1: '{"refund":50}', c2: '{"lookup":50}' });
  return ran.toSorted();
}

const resultsIn = (messages: readonly BaseMessage[]): Record<string, string> =>
  Object.fromEntries(messages.flatMap((one) => (ToolMessage.isInstance(one) ? [[one.tool_call_id, one.text]] : [])));

afterEach(async () => {
  ran.length = 0;
  await Promise.all(gates.splice(0).map((gate) => gate.close()));
});

describe('a ToolNode', () => {
  it('pauses, and goes on after the approval', async () => {
    const countersign = createFakeCountersign();
    const graph = graphOf(gateOver(countersign).tools);
    await graph.invoke(turn(call('refund', 'c1')), thread);
    expect(ran).toEqual([]);
    countersign.approve('c1');
    const { messages } = await graph.invoke(new Command({ resume: 1 }), thread);
    expect(resultsIn(messages)).toEqual({ c1: '{"refund":50}' });
    expect(ran).toEqual(['refund']);
  });

  it('runs an ungated tool of the same turn again at each resume', async () => {
    const countersign = createFakeCountersign();
    const graph = graphOf([...gateOver(countersign).tools, lookup]);
    expect(await resumedTwice(graph, countersign)).toEqual(['lookup', 'lookup', 'lookup', 'refund']);
  });

  it('runs it once when it is gated with `needsApproval: false`', async () => {
    const countersign = createFakeCountersign();
    const gate = gateOver(countersign, [refund, lookup], { lookup: { needsApproval: false } });
    expect(await resumedTwice(graphOf(gate.tools), countersign)).toEqual(['lookup', 'refund']);
  });

  it('runs it once when each call is a `Send` of its own', async () => {
    const countersign = createFakeCountersign();
    const graph = graphOf([...gateOver(countersign).tools, lookup], ({ messages }) => {
      const calls = AIMessage.isInstance(messages[0]) ? messages[0].tool_calls : [];
      return (calls ?? []).map((one) => new Send('tools', { messages, lg_tool_call: one }));
    });
    expect(await resumedTwice(graph, countersign)).toEqual(['lookup', 'refund']);
  });
});
