// A denial in code: no person is asked, and the model gets the reason.
import { gateTools } from '@countersign/langchain';
import { HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { MemorySaver } from '@langchain/langgraph';
import { createAgent } from 'langchain';
import { z } from 'zod';
import { model } from './model.ts';

const refund = tool(({ amount }) => ({ refunded: amount }), {
  name: 'refund',
  description: 'Refunds an amount to the customer',
  schema: z.strictObject({ amount: z.int() }),
});
const gate = gateTools({
  url: process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400',
  token: process.env['COUNTERSIGN_TOKEN'] ?? '',
  resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
  agentId: 'refund-agent',
  tools: [refund],
  options: {
    refund: {
      decide: ({ amount }) => {
        if (amount > 40) return { deny: 'refunds above 40 are made by hand' };
        return amount > 10 ? 'ask' : 'allow';
      },
    },
  },
});
const agent = createAgent({ model, tools: [...gate.tools], checkpointer: new MemorySaver() });
const { messages } = await agent.invoke(
  { messages: [new HumanMessage('Refund 50 to the customer, please.')] },
  { configurable: { thread_id: 'thread-43' } },
);
for (const message of messages) console.log(message.type, message.text);
await gate.close();
