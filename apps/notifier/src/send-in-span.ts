import type { SendResult } from '@countersign/channels';
import { callAttributes, inSpan } from '@countersign/shell';
import type { SpanOptions, Tracing } from '@countersign/shell';
import type { PlannedMessage } from './planned-message.js';

/** Sends a message inside a span. A message about several calls belongs to the trace of the first. */
export function sendInSpan(
  messages: readonly PlannedMessage[],
  { channelId, tracing }: { readonly channelId: string; readonly tracing: Pick<Tracing, 'inSpan'> | undefined },
  send: () => Promise<SendResult>,
): Promise<SendResult> {
  return inSpan(
    tracing,
    () => spanOf(messages, channelId),
    async (span) => {
      const result = await send();
      // The reason is the other side's text.
      if (result.status !== 'delivered') span.fail(result.status);
      return result;
    },
  );
}

function spanOf(messages: readonly PlannedMessage[], channelId: string): SpanOptions {
  const [{ job, subject }] = messages as readonly [PlannedMessage];
  const { callId, runId, tool, approvalId, traceparent: parent } = subject;
  const attributes = {
    ...callAttributes(tool, { callId, runId }),
    'countersign.approval_id': approvalId ?? undefined,
    'countersign.channel_id': channelId,
    'countersign.message_kind': job.key.kind,
    'countersign.messages': messages.length,
  };
  return { name: `send ${channelId}`, kind: 'client', attributes, parent };
}
