// An agent of LangChain whose refunds a person approves. The thread is resumed when the decision is there; any process may do it.
import { gateTools } from '@countersign/langchain';
import { HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { Command, MemorySaver } from '@langchain/langgraph';
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
  options: { refund: { approvalPrompt: (args) => `Refund ${JSON.stringify(args)}?` } },
});
const agent = createAgent({
  model,
  tools: [...gate.tools],
  // In memory: take a checkpointer with a database, so that a pause outlives the process.
  checkpointer: new MemorySaver(),
});
const runId = 'thread-1';
const thread = { configurable: { thread_id: runId } };

await agent.invoke({ messages: [new HumanMessage('Refund 50 € to order 7.')] }, thread);
// Waits on one connection until a person has decided.
await gate.worker.wait((await gate.worker.restore(runId)).state);
const { messages } = await agent.invoke(new Command({ resume: 'decided' }), thread);
console.log(messages.at(-1)?.text);
await gate.close();
