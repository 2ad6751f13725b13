// The route of a chat whose browser uses `useChat`.
import { gateTools } from '@countersign/ai-sdk';
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  isStepCount,
  streamText,
  tool,
  toUIMessageStream,
  TypeValidationError,
  type UIMessage,
} from 'ai';
import { z } from 'zod';
import { model } from './model.ts';

const gate = gateTools(
  {
    url: process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400',
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

const chat = z.object({ id: z.string().min(1), messages: z.array(z.custom<UIMessage>()) });

export async function POST(request: Request): Promise<Response> {
  const body = chat.safeParse(await request.json().catch(() => null));
  if (!body.success) return Response.json({ error: z.prettifyError(body.error) }, { status: 400 });
  // With several users, the run also names the user of the request: the id comes from the browser.
  const { tools, toolApproval, resumeUI } = gate.run(body.data.id);
  // It validates the messages, and completes the part of a call that people decided in Countersign.
  const resumed = await resumeUI(body.data.messages).catch(refusalOf);
  if (resumed instanceof Response) return resumed;
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

function refusalOf(error: unknown): Response {
  if (!TypeValidationError.isInstance(error)) throw error;
  return Response.json({ error: error.message }, { status: 400 });
}
