// An agent of LangChain whose refunds a person approves. The thread is resumed at each decision; any process may do it.
import { randomUUID } from 'node:crypto';
import { gateTools } from '@countersign/langchain';
import { HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { Command, isInterrupted, MemorySaver } from '@langchain/langgraph';
import { createAgent } from 'langchain';
import { z } from 'zod';
import { model } from './model.ts';

const refund = tool(({ amount }) => ({ refunded: amount }), {
  name: 'refund',
  description: 'Refunds an amount to the customer',
  schema: z.strictObject({ amount: z.int() }),
});

const url = process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400';
const gate = gateTools({
  url,
  token: process.env['COUNTERSIGN_TOKEN'] ?? '',
  resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
  agentId: 'refund-agent',
  tools: [refund],
  options: {
    refund: { needsApproval: ({ amount }) => amount > 10, approvalPrompt: ({ amount }) => `Refund ${amount}?` },
  },
  log: {
    warn: (fields, message) => console.warn(message, fields),
    // When Countersign fails, LangChain tells only the model: this program ends with an error.
    error: (fields, message) => {
      console.error(message, fields);
      process.exitCode = 1;
    },
  },
});
const agent = createAgent({
  model,
  tools: [...gate.tools],
  // In memory: take a checkpointer with a database, so that a pause outlives the process.
  checkpointer: new MemorySaver(),
});
const runId = randomUUID();
const thread = { configurable: { thread_id: runId } };

let state = await agent.invoke({ messages: [new HumanMessage('Refund 50 € to order 7.')] }, thread);
while (isInterrupted(state)) {
  for (const { approvalId } of await gate.worker.pending(runId)) console.log(`Decide: ${url}/approvals/${approvalId}`);
  // In a server: end here; resume in any process, for example when an event arrives.
  await gate.worker.pending(runId, { timeoutMs: 60_000 });
  state = await agent.invoke(new Command({ resume: 'decided' }), thread);
}
console.log(state.messages.at(-1)?.text);
await gate.close();
