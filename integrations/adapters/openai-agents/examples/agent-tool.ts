// An agent that another one uses as a tool. The code denies some questions, and people agree to the others.
import { randomUUID } from 'node:crypto';
import { gatedAgentTool, gatedTool, gateTools } from '@countersign/openai-agents';
import { Agent, run } from '@openai/agents';
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing';
import { z } from 'zod';
import { model } from './model.ts';

const refund = gatedTool({
  name: 'refund',
  description: 'Refunds an amount',
  parameters: z.object({ amount: z.number() }),
  decide: ({ amount }) => (amount > 1000 ? { deny: 'refunds above 1000 are made by hand' } : 'ask'),
  execute: ({ amount }) => ({ refunded: amount }),
});
const cashier = gatedAgentTool({
  agent: (tools) => new Agent({ name: 'cashier', instructions: 'You refund.', model, tools: [...tools] }),
  toolName: 'ask_cashier',
  toolDescription: 'Asks the cashier',
  decide: ({ input }) => (input.includes('New York') ? { deny: 'not for New York' } : 'ask'),
});
const url = process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400';
const gate = gateTools(
  {
    url,
    token: process.env['COUNTERSIGN_TOKEN'] ?? '',
    resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
    agentId: 'support',
  },
  [refund, cashier],
);
const question = functionCall('ask_cashier', { input: 'Refund 50' }, { callId: randomUUID() });
const supportModel = new ScriptedModel([[question], [assistantMessage('The cashier has refunded it.')]]);
const { tools, resume } = gate.run('conversation-43');
const ours = tools.filter(({ name }) => name === 'ask_cashier');
const agent = new Agent({ name: 'support', instructions: 'You ask the cashier.', model: supportModel, tools: ours });

async function goOn(stored?: string): Promise<string | undefined> {
  const input =
    stored === undefined ? 'Refund 50, please.' : (await resume(agent, stored, { timeoutMs: 60_000 })).state;
  const result = await run(agent, input);
  if (result.interruptions.length === 0) return result.finalOutput;
  for (const { approvalId } of await gate.worker.pending('conversation-43'))
    console.log(`Decide: ${url}/approvals/${approvalId}`);
  return goOn(result.state.toString());
}
console.log(await goOn());
await gate.close();
