import { gatedTool, gateTools } from '@countersign/openai-agents';
import { Agent, run } from '@openai/agents';
import { z } from 'zod';
import { model } from './model.ts';

const refund = gatedTool({
  name: 'refund',
  description: 'Refunds an amount',
  parameters: z.object({ amount: z.number() }),
  needsApproval: (_runContext, { amount }) => amount > 10,
  execute: ({ amount }) => ({ refunded: amount }),
});
const url = process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400';
const gate = gateTools(
  {
    url,
    token: process.env['COUNTERSIGN_TOKEN'] ?? '',
    resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
    agentId: 'support',
  },
  [refund],
);
const runId = 'conversation-42';
const { tools, resume } = gate.run(runId);
const agent = new Agent({ name: 'support', instructions: 'You refund.', model, tools: [...tools] });

async function goOn(stored?: string): Promise<string | undefined> {
  const input =
    stored === undefined ? 'Refund 50, please.' : (await resume(agent, stored, { timeoutMs: 60_000 })).state;
  const result = await run(agent, input);
  if (result.interruptions.length === 0) return result.finalOutput;
  for (const { approvalId } of await gate.worker.pending(runId)) console.log(`Decide: ${url}/approvals/${approvalId}`);
  // In a server: store the string and end here; resume in any process, for example when an event arrives.
  return goOn(result.state.toString());
}
console.log(await goOn());
await gate.close();
