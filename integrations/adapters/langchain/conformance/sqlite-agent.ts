// One process of an agent whose threads are in a file: `node sqlite-agent.ts begin|resume|continue`. It prints where the thread is.
import { appendFileSync } from 'node:fs';
import { gateTools } from '@countersign/langchain';
import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { tool } from '@langchain/core/tools';
import { Command } from '@langchain/langgraph';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import { createAgent } from 'langchain';
import { z } from 'zod';

const { DATABASE = '', RUNS = '', THREAD = '', DIES_AFTER_OUTCOME } = process.env;

const refund = tool(
  ({ amount }) => {
    appendFileSync(RUNS, `${String(amount)}\n`);
    return { refunded: amount };
  },
  { name: 'refund', schema: z.strictObject({ amount: z.int() }) },
);

/** The ledger has the result, and the checkpoint does not have it yet. */
const fetchOrDie: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const { pathname } = new URL(input instanceof Request ? input.url : input);
  if (DIES_AFTER_OUTCOME !== undefined && pathname.endsWith('/outcome')) process.kill(process.pid, 'SIGKILL');
  return response;
};

const gate = gateTools({
  url: process.env['COUNTERSIGN_URL'] ?? '',
  token: process.env['COUNTERSIGN_TOKEN'] ?? '',
  resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
  agentId: 'agent',
  fetch: fetchOrDie,
  tools: [refund],
});

const next = (conversation: readonly BaseMessage[]): AIMessage =>
  conversation.some((message) => ToolMessage.isInstance(message))
    ? new AIMessage('done')
    : new AIMessage({ content: '', tool_calls: [{ name: 'refund', args: { amount: 50 }, id: 'c1' }] });

const checkpointer = SqliteSaver.fromConnString(DATABASE);
// Another process may be writing.
checkpointer.db.pragma('busy_timeout = 5000');
const agent = createAgent({ model: fakeModel().respond(next).respond(next), tools: [...gate.tools], checkpointer });
const inputs = {
  begin: { messages: [new HumanMessage('go')] },
  resume: new Command({ resume: { decisions: [{ type: 'approve' }] } }),
  continue: null,
};
const input = inputs[process.argv[2] as keyof typeof inputs];
const values: { messages?: BaseMessage[]; __interrupt__?: readonly { value: unknown }[] } = await agent.invoke(input, {
  configurable: { thread_id: THREAD },
});
const { messages = [], __interrupt__: interrupts = [] } = values;
const results = messages.filter((message) => ToolMessage.isInstance(message)).map(({ text }) => text);
console.log(JSON.stringify({ interrupts: interrupts.map(({ value }) => value), results, last: messages.at(-1)?.text }));
await gate.close();
