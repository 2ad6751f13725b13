// One conversation with one call of a tool that is not behind the gate, for `npm run bench`: the framework alone, and with the adapter.
import { gatedTool, gateTools } from '@countersign/mastra';
import { Agent, type AgentConfig } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { scriptedModel } from './scripted-model.ts';

type Tools = Extract<AgentConfig['tools'], object>;

const lookup = createTool({
  id: 'lookup',
  description: 'Looks up an order',
  inputSchema: z.strictObject({ id: z.string() }),
  execute: ({ id }) => Promise.resolve({ found: id }),
});
const refund = {
  id: 'refund',
  description: 'Refunds an amount',
  inputSchema: z.strictObject({ amount: z.int() }),
  execute: ({ amount }: { readonly amount: number }) => Promise.resolve({ refunded: amount }),
};
const gate = gateTools({ url: 'http://127.0.0.1:9', token: 't', agentId: 'a' }, [gatedTool(refund)]);

async function converse(tools: Tools): Promise<string> {
  const { model } = scriptedModel([[{ toolCallId: 'c1', toolName: 'lookup', arguments: { id: 'x' } }]]);
  const agent = new Agent({ id: 'support', name: 'support', instructions: 'You refund.', model, tools });
  return (await agent.generate('go')).text;
}

export const alone = (): Promise<string> => converse({ refund: createTool(refund), lookup });

export const behind = (): Promise<string> => converse({ ...gate.run('run').tools, lookup });
