// An agent of the OpenAI Agents SDK that the conformance kit tries.
import { gatedTool, gateTools } from '@countersign/openai-agents';
import { connectKit } from '@countersign/conformance';
import { Agent, run, RunState, setTracingDisabled, tool } from '@openai/agents';
import { z } from 'zod';
import { scriptedModel } from './scripted-model.ts';

setTracingDisabled(true);
const { start, workerOptions, body, used, streamed, end } = await connectKit();

type Details = { readonly toolCall?: { readonly callId: string } } | undefined;

const bodyOf = (toolName: string) => (input: Record<string, string | number>, _: unknown, details: Details) =>
  body(toolName, details?.toolCall?.callId ?? null, input);
const gate = gateTools(workerOptions, [
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
const inner = new Agent({
  name: 'conformance',
  instructions: () => {
    if (start.nested) used('nested');
    return 'You refund.';
  },
  model: script.model,
  tools: [...tools, lookup],
});
const outerScript = scriptedModel([[{ toolCallId: 'outer', toolName: 'delegate', arguments: { input: 'go' } }]]);
const outer = new Agent({
  name: 'outer',
  model: outerScript.model,
  tools: [inner.asTool({ toolName: 'delegate', toolDescription: 'Delegates' })],
});
const agent = start.nested ? outer : inner;

async function begin(): Promise<string | RunState<unknown, typeof agent>> {
  if (start.state === null) return 'go';
  if (!start.forge) return (await resume(agent, start.state)).state;
  const state: RunState<unknown, typeof agent> = await RunState.fromString(agent, start.state);
  for (const item of state.getInterruptions()) {
    state.approve(item);
    used('forged');
  }
  return state;
}

async function answer() {
  const input = await begin();
  if (!start.streaming) return endOf(await run(agent, input));
  const stream = await run(agent, input, { stream: true });
  for await (const _ of streamed(stream));
  await stream.completed;
  return endOf(stream);
}

function endOf(result: {
  readonly interruptions: readonly unknown[];
  readonly state: { toString: () => string };
  readonly finalOutput?: unknown;
}) {
  if (result.interruptions.length > 0) return { event: 'paused', state: result.state.toString() } as const;
  return {
    event: 'finished',
    told: { ...script.told(), ...outerScript.told() },
    final: String(result.finalOutput),
  } as const;
}

await end(async () => {
  try {
    return await answer();
  } finally {
    await gate.close();
  }
});
