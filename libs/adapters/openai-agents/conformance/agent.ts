// An agent of the OpenAI Agents SDK that the conformance kit tries.
import { createInterface } from 'node:readline';
import { gatedTool, gateTools } from '@countersign/openai-agents';
import type { AgentEvent, AgentStart, ToolReply } from '@countersign/conformance';
import { Agent, run, RunState, setTracingDisabled, tool } from '@openai/agents';
import { z } from 'zod';
import { scriptedModel } from './scripted-model.ts';

setTracingDisabled(true);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const read = async <T>(): Promise<T> => JSON.parse(String((await lines.next()).value)) as T;
const print = (event: AgentEvent): void => console.log(JSON.stringify(event));
const start = await read<AgentStart>();

type Details = { readonly toolCall?: { readonly callId: string } } | undefined;

/** The kit answers in the order in which the tools began. */
const bodyOf = (toolName: string) => async (input: Record<string, string | number>, _: unknown, details: Details) => {
  print({ event: 'tool', toolName, toolCallId: details?.toolCall?.callId ?? null, arguments: input });
  return (await read<ToolReply>()).output;
};
const { url, agentToken: token, workerToken: resolverToken, agentId, leaseMs } = start;
const gate = gateTools({ url, token, resolverToken, agentId, leaseMs }, [
  gatedTool({
    name: 'refund',
    description: 'Refunds an amount',
    parameters: z.strictObject({ amount: z.int() }),
    execute: bodyOf('refund'),
  }),
]);
const { tools, resume } = gate.run(start.runId);
const lookup = tool({
  name: 'lookup',
  description: 'Looks up an order',
  parameters: z.strictObject({ id: z.string() }),
  execute: bodyOf('lookup'),
});
const script = scriptedModel(start.turns);
const inner = new Agent({ name: 'conformance', model: script.model, tools: [...tools, lookup] });
const outer = new Agent({
  name: 'outer',
  model: scriptedModel([[{ toolCallId: 'outer', toolName: 'delegate', arguments: { input: 'go' } }]]).model,
  tools: [inner.asTool({ toolName: 'delegate', toolDescription: 'Delegates' })],
});
const agent = start.nested ? outer : inner;

async function begin(): Promise<string | RunState<unknown, typeof agent>> {
  if (start.state === null) return 'go';
  if (!start.forge) return (await resume(agent, start.state)).state;
  const state: RunState<unknown, typeof agent> = await RunState.fromString(agent, start.state);
  for (const item of state.getInterruptions()) state.approve(item);
  return state;
}

async function answer(): Promise<AgentEvent> {
  const input = await begin();
  if (!start.streaming) return endOf(await run(agent, input));
  const stream = await run(agent, input, { stream: true });
  await stream.completed;
  return endOf(stream);
}

function endOf({
  interruptions,
  state,
}: {
  readonly interruptions: readonly unknown[];
  readonly state: { toString: () => string };
}): AgentEvent {
  if (interruptions.length > 0) return { event: 'paused', state: state.toString() };
  return { event: 'finished', told: script.told(), final: 'done' };
}

try {
  print(await answer());
} catch (error) {
  print({ event: 'failed', message: String(error) });
  process.exitCode = 1;
}
await gate.close();
process.exit();
