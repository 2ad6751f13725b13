// One conversation with one call of a tool that is not behind the gate, for `npm run bench`: the framework alone, and with the adapter.
import { gateTools } from '@countersign/langchain';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { tool, type StructuredToolInterface } from '@langchain/core/tools';
import { createAgent } from 'langchain';
import { z } from 'zod';

const lookup = tool(({ id }) => `found ${id}`, {
  name: 'lookup',
  description: 'Looks up an order',
  schema: z.strictObject({ id: z.string() }),
});
const refund = tool(({ amount }) => String(amount), {
  name: 'refund',
  description: 'Refunds an amount',
  schema: z.strictObject({ amount: z.int() }),
});
const gate = gateTools({ url: 'http://127.0.0.1:9', token: 't', agentId: 'a', tools: [refund] });

async function converse(tools: StructuredToolInterface[]): Promise<string> {
  const call = { name: 'lookup', args: { id: 'x' }, id: 'c1' };
  const model = fakeModel()
    .respond(new AIMessage({ id: 'turn', content: '', tool_calls: [call] }))
    .respond(new AIMessage({ id: 'end', content: 'done' }));
  const { messages } = await createAgent({ model, tools }).invoke({ messages: [new HumanMessage('go')] });
  return messages.at(-1)?.text ?? '';
}

export const alone = (): Promise<string> => converse([refund, lookup]);

export const behind = (): Promise<string> => converse([...gate.tools, lookup]);
