import { deliveryStream, isCallId, isReadable, toolCallStream } from '@countersign/contracts';
import type { LogEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';

/**
 * Returns all events about a call in the order of the log: its own stream and its delivery streams. It reads by stream
 * name, so the cost depends on the call and not on the log.
 *
 * The result is complete up to every position that was recorded before the read: a delivery is recorded after its
 * approval, so an unknown stream holds only later events.
 */
export async function readEventsOfCall(
  store: Pick<EventStore, 'readStream'>,
  callId: string,
): Promise<readonly LogEvent[]> {
  if (!isCallId(callId)) return [];
  const own = await store.readStream(toolCallStream(callId));
  const approvalIds = own.filter(isReadable).flatMap(({ type, data }) => {
    const { approvalId } = data as { readonly approvalId?: unknown };
    return type === 'ApprovalRequested' && typeof approvalId === 'string' ? [approvalId] : [];
  });
  const subjects = [null, ...approvalIds].map((approvalId) => deliveryStream({ approvalId, callId }));
  const sent = await Promise.all(subjects.map((stream) => store.readStream(stream)));
  return [...own, ...sent.flat()].sort((a, b) => a.position - b.position);
}
