import { deliveryStream, isCallId, toolCallStream } from '@countersign/contracts';
import type { RecordedEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';

/**
 * Everything that is recorded about a call, in the order of the log: its own stream, and what was sent to people about it
 * and its approvals. Read by the streams' names, it takes as long as the call is, however long the log is.
 *
 * Complete up to every position that was recorded before it was called: a message is sent after its approval was
 * requested, so whatever stream is not known yet holds only what came later.
 */
export async function readEventsOfCall(
  store: Pick<EventStore, 'readStream'>,
  callId: string,
): Promise<readonly RecordedEvent[]> {
  if (!isCallId(callId)) return [];
  const own = await store.readStream(toolCallStream(callId));
  const approvalIds = own.flatMap(({ type, data }) => {
    const { approvalId } = data as { readonly approvalId?: unknown };
    return type === 'ApprovalRequested' && typeof approvalId === 'string' ? [approvalId] : [];
  });
  const subjects = [null, ...approvalIds].map((approvalId) => deliveryStream({ approvalId, callId }));
  const sent = await Promise.all(subjects.map((stream) => store.readStream(stream)));
  return [...own, ...sent.flat()].sort((a, b) => a.position - b.position);
}
