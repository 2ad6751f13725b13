import { type AgentCard } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore, type AgentExecutor } from '@a2a-js/sdk/server';
import { withApprovals } from '@countersign/a2a';
import { createWorker, gateTool, modelText } from '@countersign/worker-sdk';
import { z } from 'zod';

const url = process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400';
const token = process.env['COUNTERSIGN_TOKEN'] ?? '';
const resolverToken = process.env['COUNTERSIGN_RESOLVER_TOKEN'];
const refund = gateTool({
  name: 'refund',
  inputSchema: z.object({ amount: z.number() }),
  needsApproval: true,
  execute: ({ amount }) => ({ refunded: amount }),
});
const worker = createWorker({ url, token, resolverToken, agentId: 'support', tools: [refund] });

/** Put your agent in its place: it runs its tools through the worker, with the task as the run. */
const agent: AgentExecutor = {
  execute: async ({ taskId, userMessage }, eventBus) => {
    const call = { toolCallId: 'refund-1', toolName: 'refund', arguments: { amount: 50 } };
    const { result } = await worker.call({ ...call, runId: taskId });
    const text = result === null ? 'I asked.' : modelText(result);
    const content = { $case: 'text' as const, value: text };
    const part = { content, mediaType: 'text/plain', filename: '', metadata: undefined };
    eventBus.publish(AgentEvent.message({ ...userMessage, messageId: crypto.randomUUID(), parts: [part] }));
  },
  cancelTask: () => Promise.resolve(),
};

export function handlerFor(card: AgentCard): DefaultRequestHandler {
  const options = { worker, taskStore: new InMemoryTaskStore(), inboxUrl: url };
  const { executor, taskStore } = withApprovals(options, agent);
  return new DefaultRequestHandler(card, taskStore, executor);
}
