// The agent that the conformance kit tries: `createAgent` of LangChain with tools behind Countersign, and a scripted model.
import { deserialize, serialize } from 'node:v8';
import { connectKit, type ScriptedCall } from '@countersign/conformance';
import { gateTools } from '@countersign/langchain';
import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { tool, type StructuredToolInterface, type ToolRunnableConfig } from '@langchain/core/tools';
import { Command, MemorySaver } from '@langchain/langgraph';
import { createAgent } from 'langchain';
import { z } from 'zod';

const { start, workerOptions, body, used, streamed, end } = await connectKit();

const refund = tool(async (args, config: ToolRunnableConfig) => body('refund', config.toolCall?.id ?? null, args), {
  name: 'refund',
  description: 'Refunds an amount',
  schema: z.strictObject({ amount: z.int() }),
});
const lookup = tool(async (args, config: ToolRunnableConfig) => body('lookup', config.toolCall?.id ?? null, args), {
  name: 'lookup',
  description: 'Looks up an order',
  schema: z.strictObject({ id: z.string() }),
});
const gate = gateTools({
  ...workerOptions,
  tools: [refund],
});

interface Call extends Omit<ScriptedCall, 'toolName'> {
  readonly toolName: string;
}

/** More than any script makes. */
const modelCallsMax = 20;

/** A model that makes the calls of turn n after n messages of its own, then says "done". */
function scripted(turns: readonly (readonly Call[])[], onCalled = (): void => undefined) {
  const next = (conversation: readonly BaseMessage[]): AIMessage => {
    onCalled();
    const had = conversation.filter((message) => AIMessage.isInstance(message)).length;
    const calls = turns[had]?.map(({ toolCallId, toolName, arguments: args }) => ({
      name: toolName,
      args,
      id: toolCallId,
    }));
    if (calls === undefined) return new AIMessage({ id: 'end', content: 'done' });
    return new AIMessage({ id: `turn-${String(had)}`, content: '', tool_calls: calls });
  };
  return Array.from({ length: modelCallsMax }).reduce<ReturnType<typeof fakeModel>>(
    (model) => model.respond(next),
    fakeModel(),
  );
}

/** The results that a sub-agent was given. */
const toldInside: Record<string, string> = {};

function agentOf(checkpointer: MemorySaver) {
  const tools: StructuredToolInterface[] = [...gate.tools, lookup];
  if (!start.nested) return createAgent({ model: scripted(start.turns), tools, checkpointer });
  const delegate = tool(
    async (_args: unknown, config: ToolRunnableConfig) => {
      const inner = createAgent({ model: scripted(start.turns, () => used('nested')), tools });
      const { messages } = await inner.invoke({ messages: [new HumanMessage('go')] }, config);
      Object.assign(toldInside, toldIn(messages));
      return messages.at(-1)?.text ?? '';
    },
    { name: 'delegate', description: 'Asks another agent', schema: z.strictObject({}) },
  );
  const outer = scripted([[{ toolCallId: 'outer', toolName: 'delegate', arguments: {} }]]);
  return createAgent({ model: outer, tools: [delegate], checkpointer });
}
function toldIn(messages: readonly BaseMessage[]): Record<string, string> {
  const results = messages.filter((message) => ToolMessage.isInstance(message));
  return Object.fromEntries(results.map((message) => [message.tool_call_id, message.text]));
}

const checkpointer = new MemorySaver();
if (start.state !== null) Object.assign(checkpointer, deserialize(Buffer.from(start.state, 'base64')));
const config = { configurable: { thread_id: start.runId } };
const agent = agentOf(checkpointer);

/** A resume value decides nothing, so the forged one is sent each time. */
function resumed() {
  const command = new Command({ resume: { decisions: [{ type: 'approve' }], approved: true } });
  if (start.forge) used('forged');
  return command;
}
const input = start.state === null ? { messages: [new HumanMessage('go')] } : resumed();

interface Values {
  readonly messages?: BaseMessage[];
  readonly __interrupt__?: readonly unknown[];
}

async function lastValues(): Promise<Values> {
  if (!start.streaming) return agent.invoke(input, config);
  let last: Values = {};
  for await (const [, values] of streamed(await agent.stream(input, { ...config, streamMode: ['values'] }))) {
    last = { ...last, ...(values as Values) };
  }
  return last;
}

async function answer() {
  const { messages = [], __interrupt__: interrupts = [] } = await lastValues();
  const { storage, writes } = checkpointer;
  return interrupts.length > 0
    ? ({ event: 'paused', state: serialize({ storage, writes }).toString('base64') } as const)
    : ({
        event: 'finished',
        told: { ...toldInside, ...toldIn(messages) },
        final: messages.at(-1)?.text ?? '',
      } as const);
}
await end(async () => {
  try {
    return await answer();
  } finally {
    await gate.close();
  }
});
