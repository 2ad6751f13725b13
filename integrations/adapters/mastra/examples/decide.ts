// A denial in code: no person is asked, and the model gets the reason.
import { gatedTool, gateTools } from '@countersign/mastra';
import { Agent } from '@mastra/core/agent';
import { z } from 'zod';
import { model } from './model.ts';

const refund = gatedTool({
  id: 'refund',
  description: 'Refunds an amount',
  inputSchema: z.object({ amount: z.number() }),
  decide: ({ amount }) => {
    if (amount > 40) return { deny: 'refunds above 40 are made by hand' };
    return amount > 10 ? 'ask' : 'allow';
  },
  execute: ({ amount }) => ({ refunded: amount }),
});
const gate = gateTools(
  {
    url: process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400',
    token: process.env['COUNTERSIGN_TOKEN'] ?? '',
    resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
    agentId: 'support',
  },
  [refund],
);
const { tools } = gate.run('session-43');
const agent = new Agent({ id: 'support', name: 'support', instructions: 'You refund.', model, tools });
const { text } = await agent.generate('Refund 50, please.');
console.log(text);
await gate.close();
