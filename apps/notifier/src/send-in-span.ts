import type { SendResult } from '@countersign/channels';
import { callAttributes, inSpan } from '@countersign/shell';
import type { SpanOptions, Tracing } from '@countersign/shell';
import type { PlannedMessage } from './planned-message.js';

type Sent = Pick<PlannedMessage, 'job' | 'subject'>;

/** Sends a message inside a span. One about several calls belongs to the trace of the first, with links to the others. */
export function sendInSpan(
  messages: readonly Sent[],
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

function spanOf(messages: readonly Sent[], channelId: string): SpanOptions {
  const [{ job, subject }, ...more] = messages as readonly [Sent, ...Sent[]];
  const { tenant, callId, runId, tool, approvalId, traceparent: parent } = subject;
  const others = more.map((other) => other.subject.traceparent);
  const attributes = {
    ...callAttributes(tool, { tenant, callId, runId }),
    'countersign.approval_id': approvalId ?? undefined,
    'countersign.channel_id': channelId,
    'countersign.message_kind': job.key.kind,
    'countersign.messages': messages.length,
  };
  return { name: `send ${channelId}`, kind: 'client', attributes, parent, others };
}
