// A denial in code: no person is asked, and the model gets the reason.
import { gateTools } from '@countersign/ai-sdk';
import { generateText, isStepCount, tool } from 'ai';
import { z } from 'zod';
import { model } from './model.ts';

const refund = tool({
  description: 'Refunds an amount',
  inputSchema: z.strictObject({ amount: z.number() }),
  execute: ({ amount }) => ({ refunded: amount }),
});
const gate = gateTools(
  {
    url: process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400',
    token: process.env['COUNTERSIGN_TOKEN'] ?? '',
    resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
    agentId: 'support',
  },
  { refund },
  {
    refund: {
      decide: ({ amount }) => {
        if (amount > 40) return { deny: 'refunds above 40 are made by hand' };
        return amount > 10 ? 'ask' : 'allow';
      },
    },
  },
);
const { tools, toolApproval } = gate.run('chat-43');
const prompt = 'Refund 50, please.';
const { text, toolResults } = await generateText({ model, tools, toolApproval, prompt, stopWhen: isStepCount(10) });
console.log(toolResults.length, text);
await gate.close();
