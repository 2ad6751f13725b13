import { deliveryStream, isCallId, toolCallStream } from '@countersign/contracts';
import type { RecordedEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';

/** The execution routes of the gateway. The response to a claim is never shortened: its arguments are what runs. */
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
