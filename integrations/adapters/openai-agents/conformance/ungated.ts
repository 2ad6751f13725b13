// One conversation with one call of a tool that is not behind the gate, for `npm run bench`: the framework alone, and with the adapter.
import { gatedTool, gateTools } from '@countersign/openai-agents';
import { Agent, run, setTracingDisabled, tool } from '@openai/agents';
import type { Tool } from '@openai/agents';
import { z } from 'zod';
import { scriptedModel } from './scripted-model.ts';

setTracingDisabled(true);

const lookup = tool({
  name: 'lookup',
  description: 'Looks up an order',
  parameters: z.strictObject({ id: z.string() }),
  execute: ({ id }) => ({ found: id }),
});
const refund = {
  name: 'refund',
  description: 'Refunds an amount',
  parameters: z.strictObject({ amount: z.int() }),
  execute: ({ amount }: { amount: number }) => amount,
};
const gate = gateTools({ url: 'http://127.0.0.1:9', token: 't', agentId: 'a' }, [gatedTool(refund)]);

async function converse(tools: Tool[]): Promise<string> {
  const { model } = scriptedModel([[{ toolCallId: 'c1', toolName: 'lookup', arguments: { id: 'x' } }]]);
  const { finalOutput } = await run(new Agent({ name: 'bench', model, tools }), 'go');
  return String(finalOutput);
}

export const alone = (): Promise<string> => converse([tool(refund), lookup]);

export const behind = (): Promise<string> => converse([...gate.run('run').tools, lookup]);
