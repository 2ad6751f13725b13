// The route of a chat whose browser uses `useChat`.
import { gateTools } from '@countersign/ai-sdk';
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  isStepCount,
  streamText,
  tool,
  toUIMessageStream,
  type UIMessage,
} from 'ai';
import { z } from 'zod';
import { model } from './model.ts';

const gate = gateTools(
  {
    url: 'http://127.0.0.1:7400',
    token: process.env['COUNTERSIGN_TOKEN'] ?? '',
    resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
    agentId: 'support',
  },
  {
    refund: tool({
      inputSchema: z.strictObject({ amount: z.number() }),
      execute: ({ amount }) => ({ refunded: amount }),
    }),
  },
  { refund: true },
);

export async function POST(request: Request): Promise<Response> {
  const { id, messages } = (await request.json()) as { id: string; messages: UIMessage[] };
  // With several users, the run also names the user of the request: the id comes from the browser.
  const { tools, toolApproval, resumeUI } = gate.run(id);
  const resumed = await resumeUI(messages);
  if (resumed.pending.length > 0) return Response.json({ waitingFor: resumed.pending }, { status: 409 });
  const { stream } = streamText({
    model,
    tools,
    toolApproval,
    messages: await convertToModelMessages(resumed.messages, { tools }),
    stopWhen: isStepCount(10),
  });
  return createUIMessageStreamResponse({ stream: toUIMessageStream({ stream, originalMessages: resumed.messages }) });
}
