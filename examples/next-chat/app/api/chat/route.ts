import { gateTools } from '@countersign/ai-sdk';
import {
  convertToModelMessages,
  createUIMessageStream,
  createUIMessageStreamResponse,
  generateId,
  isStepCount,
  streamText,
  tool,
  toUIMessageStream,
  type UIMessage,
} from 'ai';
import { z } from 'zod';
import { saveChat } from '../../../lib/chats';
import { agent } from '../../../lib/countersign';
import { model } from '../../../lib/model';
import { refund } from '../../../lib/refund';
import { runOf, userOf } from '../../../lib/user';

const tools = {
  refund: tool({
    description: 'Refunds an amount to the customer',
    inputSchema: z.strictObject({ amount: z.number() }),
    execute: refund,
  }),
};
const gate = gateTools(agent, tools, { refund: { approvalPrompt: ({ amount }) => `Refund ${amount}?` } });
const body = z.object({ id: z.uuid(), messages: z.array(z.custom<UIMessage>()) });

export async function POST(request: Request): Promise<Response> {
  const sent = body.safeParse(await request.json().catch(() => null));
  if (!sent.success) return Response.json({ error: z.prettifyError(sent.error) }, { status: 400 });
  const runId = runOf(userOf(request), sent.data.id);
  const { tools, toolApproval, resumeUI } = gate.run(runId, { signal: request.signal });
  // It validates the messages. What they say about approvals and results counts for nothing: the ledger says it.
  const resumed = await resumeUI(sent.data.messages, { timeoutMs: 5000, signal: request.signal });
  const originalMessages = resumed.messages;
  if (resumed.pending.length > 0) {
    return createUIMessageStreamResponse({ stream: createUIMessageStream({ execute: () => undefined }) });
  }
  const { stream } = streamText({
    model,
    tools,
    toolApproval,
    messages: await convertToModelMessages(originalMessages, { tools }),
    stopWhen: isStepCount(10),
  });
  return createUIMessageStreamResponse({
    stream: toUIMessageStream({
      stream,
      originalMessages,
      generateMessageId: generateId,
      onEnd: ({ messages }) => saveChat(runId, messages),
    }),
  });
}
