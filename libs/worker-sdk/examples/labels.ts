// An assistant asks in the chat of each conversation: the chat is a label of the step, and one worker serves all chats.
import { createWorker, gateTool, type ProposedCall, type StepOutcome } from '@countersign/worker-sdk';
import { z } from 'zod';

const sendOffer = ({ amount }: { amount: number }) => ({ offered: amount });

const tellChat = gateTool({
  name: 'send_offer',
  inputSchema: z.strictObject({ amount: z.number() }),
  needsApproval: true,
  labels: ({ amount }) => ({ size: amount > 1000 ? 'large' : 'small' }),
  execute: sendOffer,
});

const worker = createWorker({
  url: process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400',
  token: process.env['COUNTERSIGN_TOKEN'] ?? '',
  agentId: 'assistant',
  tools: [tellChat],
});

/** The calls of a model's step are asked about in the chat of their conversation. */
export async function answered(
  telegramChat: string,
  runId: string,
  toolCalls: readonly ProposedCall[],
): Promise<StepOutcome> {
  const answer = await worker.run({ runId, labels: { telegramChat }, toolCalls });
  return answer;
}
