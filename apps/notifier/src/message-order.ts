import type { NotificationKind } from '@countersign/contracts';
import type { Deliveries, Delivery, MessageKey } from '@countersign/domain';
import { newsAgeMsMax } from './retry-schedule.js';

/** The order in which a reader hears of an approval. */
const order: readonly NotificationKind[] = [
  ...(['requested', 'approved', 'denied', 'expired', 'cancelled', 'unknown', 'failed', 'succeeded'] as const),
];

/**
 * When an earlier message about the same approval is tried again, in epoch ms; null: none is left to send. `announced`: a
 * question is sent also when it is decided.
 */
export function earlierDueMs(key: MessageKey, sent: Deliveries, announced: boolean, nowMs: number): number | null {
  const dues = [...sent.values()]
    .filter((delivery) => isBefore(delivery, key) && (delivery.kind !== 'requested' || announced))
    .flatMap((delivery) => dueMsOf(delivery, nowMs));
  return dues.length === 0 ? null : Math.max(...dues);
}

function isBefore(earlier: MessageKey, key: MessageKey): boolean {
  const [at, rank] = [order.indexOf(earlier.kind), order.indexOf(key.kind)];
  return at >= 0 && at < rank && earlier.channelId === key.channelId && earlier.recipient === key.recipient;
}

/** A message that failed, or that another notifier is sending now. One that was left for three days holds up no other. */
function dueMsOf({ status, nextAttemptAt, claim }: Delivery, nowMs: number): readonly number[] {
  if (status !== 'failed' && status !== 'claimed') return [];
  const [dueAt, sinceMs] =
    status === 'failed' ? ([nextAttemptAt, nowMs - newsAgeMsMax] as const) : ([claim?.leaseUntil, nowMs] as const);
  const dueMs = Date.parse(dueAt ?? '');
  return dueMs > sinceMs ? [dueMs] : [];
}
