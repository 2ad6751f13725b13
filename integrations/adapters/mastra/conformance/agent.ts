// An agent of Mastra that the conformance kit tries.
import { connectKit } from '@countersign/conformance';
import { gatedTool, gateTools, type FrameworkContext } from '@countersign/mastra';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { InMemoryStore } from '@mastra/core/storage';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { scriptedModel } from './scripted-model.ts';

const { start, workerOptions, body, used, streamed, end } = await connectKit();

const bodyOf = (toolName: string) => (input: Record<string, string | number>, context: FrameworkContext) =>
  body(toolName, context.agent?.toolCallId ?? null, input);
const { runId } = start;
const gate = gateTools(workerOptions, [
  gatedTool({
    id: 'refund',
    description: 'Refunds an amount',
    inputSchema: z.strictObject({ amount: z.int() }),
    execute: bodyOf('refund'),
  }),
]);
const lookup = createTool({
  id: 'lookup',
  description: 'Looks up an order',
  inputSchema: z.strictObject({ id: z.string() }),
  execute: bodyOf('lookup'),
});
const script = scriptedModel(start.turns);
const inner = new Agent({
  id: 'inner',
  name: 'inner',
  description: 'Refunds',
  instructions: () => {
    if (start.nested) used('nested');
    return 'You refund.';
  },
  model: script.model,
  tools: { ...gate.run(runId).tools, lookup },
});
const outerScript = scriptedModel([[{ toolCallId: 'outer', toolName: 'agent-delegate', arguments: { prompt: 'go' } }]]);
const outer = new Agent({
  id: 'outer',
  name: 'outer',
  instructions: 'You delegate.',
  model: outerScript.model,
  agents: { delegate: inner },
});
const storage = new InMemoryStore();
const mastra = new Mastra({ agents: { inner, outer }, storage, logger: false });
const agent = mastra.getAgent(start.nested ? 'outer' : 'inner');

/** A state of the kit is a copy of what the storage has. */
async function snapshots() {
  const workflows = await storage.getStore('workflows');
  if (workflows === undefined) throw new Error('the storage has no workflows');
  return {
    read: async () => JSON.stringify((await workflows.listWorkflowRuns()).runs),
    write: async (state: string) => {
      const runs = JSON.parse(state) as Awaited<ReturnType<typeof workflows.listWorkflowRuns>>['runs'];
      for (const { snapshot, ...run } of runs) {
        if (typeof snapshot !== 'string') await workflows.persistWorkflowSnapshot({ ...run, snapshot });
      }
    },
  };
}

async function go() {
  const { streaming, state, forge } = start;
  if (state === null) return streaming ? agent.stream('go', { runId }) : agent.generate('go', { runId });
  if (forge) {
    const output = await agent.approveToolCall({ runId, toolCallId: start.nested ? 'outer' : 'c1' });
    used('forged');
    return output;
  }
  return streaming ? agent.resumeStream({}, { runId }) : agent.resumeGenerate({}, { runId });
}

async function answer() {
  const { read, write } = await snapshots();
  if (start.state !== null) await write(start.state);
  const output = await go();
  if (start.streaming && 'fullStream' in output) for await (const _ of streamed(output.fullStream));
  else if ('consumeStream' in output) await output.consumeStream();
  if ((await output.finishReason) === 'suspended') return { event: 'paused', state: await read() } as const;
  const told = { ...script.told(), ...outerScript.told() };
  return { event: 'finished', told, final: await output.text } as const;
}

await end(async () => {
  try {
    return await answer();
  } finally {
    await gate.close();
  }
});
