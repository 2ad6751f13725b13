import { gatedTool, gateTools } from '@countersign/mastra';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { LibSQLStore } from '@mastra/libsql';
import { z } from 'zod';
import { model } from './model.ts';

const refund = gatedTool({
  id: 'refund',
  description: 'Refunds an amount',
  inputSchema: z.object({ amount: z.number() }),
  needsApproval: ({ amount }) => amount > 10,
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
const runId = 'session-42';
const { tools, pending } = gate.run(runId);
const support = new Agent({ id: 'support', name: 'support', instructions: 'You refund.', model, tools });
const storage = new LibSQLStore({ id: 'runs', url: 'file:runs.db' });
const agent = new Mastra({ agents: { support }, storage }).getAgent('support');

let output = await agent.generate('Refund 50, please.', { runId });
while (output.finishReason === 'suspended') {
  for (const { approvalId } of await pending()) console.log(`Decide: ${url}/approvals/${approvalId}`);
  // In a server: end here; resume in any process, for example when an event arrives.
  await pending({ timeoutMs: 60_000 });
  output = await agent.resumeGenerate({}, { runId });
}
console.log(output.text);
await gate.close();
