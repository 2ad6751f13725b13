// How an agent framework that runs its tools itself puts one of them behind Countersign.
import { createWorker, gateTool, modelText } from '@countersign/worker-sdk';
import { z } from 'zod';

const worker = createWorker({
  url: 'http://127.0.0.1:7400',
  token: process.env['COUNTERSIGN_TOKEN'] ?? '',
  resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
  agentId: 'agent',
  tools: [
    gateTool({
      name: 'refund',
      inputSchema: z.strictObject({ amount: z.number() }),
      needsApproval: true,
      execute: ({ amount }) => ({ refunded: amount }),
    }),
  ],
});
const runId = 'run-46';

async function refundInFramework(args: { amount: number }, toolCallId: string): Promise<string> {
  const { result, approval } = await worker.call({ runId, toolCallId, toolName: 'refund', arguments: args });
  if (result === null) return `Waiting for approval ${approval?.approvalId ?? ''}.`;
  return modelText(result);
}

console.log(await refundInFramework({ amount: 50 }, 'call_1'));
await worker.close();
