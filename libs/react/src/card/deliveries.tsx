import { useEffect } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView, EventView } from '@countersign/contracts';
import type { EventFeed } from '../client/approvals-client.js';
import { deliveryTypes } from '../client/event-types.js';
import { useLoaded } from '../live/use-loaded.js';
import { usePendingStore } from '../live/use-pending.js';
import { eventWords } from '../text/event-words.js';
import { ClockTime } from '../ui/time.js';

/** The notifications of an approval: their recipients and channels, and those that were not delivered. */
export function Deliveries(props: { approval: ApprovalView; events: EventFeed }): ReactNode {
  const {
    approval: { approvalId, callId },
    events,
  } = props;
  const store = usePendingStore();
  const { value, reload } = useLoaded(approvalId, (signal) => events.read(callId, deliveryTypes, signal));
  useEffect(() => store.onDelivery((id) => id === approvalId && reload()), [store, approvalId, reload]);
  if (value === undefined) return <span className="cs-muted">…</span>;
  const messages = latestOf(value.filter(({ data }) => data['approvalId'] === approvalId));
  if (messages.length === 0) return 'in the inbox alone';
  return (
    <ul className="cs-deliveries" aria-label="Who was told">
      {messages.map((event) => (
        <li key={event.eventId} data-type={event.type}>
          {eventWords(event)} <ClockTime time={event.recordedAt} />
        </li>
      ))}
    </ul>
  );
}

/** The latest state of each message. What becomes of a copy after it was sent is not shown. */
function latestOf(events: readonly EventView[]): readonly EventView[] {
  const latest = new Map<string, EventView>();
  for (const event of events) {
    const { channelId, kind, nth, recipient } = event.data;
    const id = JSON.stringify([channelId, kind, nth, recipient]);
    if (latest.get(id)?.type !== 'NotificationDelivered' && event.type !== 'NotificationUpdated') latest.set(id, event);
  }
  return [...latest.values()];
}
