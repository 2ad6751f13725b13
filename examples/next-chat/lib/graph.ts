import { gateTools } from '@countersign/langchain';
import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { z } from 'zod';
import { agent } from './countersign';
import { refund } from './refund';

const gate = gateTools({
  ...agent,
  tools: [
    tool(refund, {
      name: 'refund',
      description: 'Refunds an amount to the customer',
      schema: z.strictObject({ amount: z.number() }),
    }),
  ],
});

/** A model that follows a script, so that the example needs no key: here `model.bindTools(gate.tools).invoke(messages)` belongs. */
function scripted(messages: readonly BaseMessage[]): AIMessage {
  const last = messages.at(-1);
  if (last?.type === 'tool') return new AIMessage(`(Scripted model) The result of the refund: ${last.text}`);
  const args = { amount: Number(/\d+/.exec(last?.text ?? '')?.[0] ?? '50') };
  return new AIMessage({ content: '', tool_calls: [{ id: `call-${crypto.randomUUID()}`, name: 'refund', args }] });
}

/** The conversations are in memory: take a checkpointer with a database, so that they outlive the process. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', ({ messages }) => ({ messages: [scripted(messages)] }))
  .addNode('tools', new ToolNode(gate.tools))
  .addEdge(START, 'model')
  .addConditionalEdges('model', toolsCondition, ['tools', '__end__'])
  .addEdge('tools', 'model')
  .compile({ checkpointer: new MemorySaver() });
