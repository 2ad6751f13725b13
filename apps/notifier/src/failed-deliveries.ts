import { setImmediate as nextTurn } from 'node:timers/promises';
import { isReadable } from '@countersign/contracts';
import type { DeliveryEvent, LogEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import type { ReadModel } from '@countersign/read-model';
import type { Clock } from '@countersign/runtime';
import type { Job } from './planned-message.js';
import { newsAgeMsMax } from './retry-schedule.js';

export interface Retry {
  readonly job: Job;
  readonly dueAtMs: number;
}

/** The retry that a recorded failure announces; undefined for any other event. */
export function retryOf(event: LogEvent): Retry | undefined {
  if (!isReadable(event)) return undefined;
  const { callId } = event.metadata;
  if (event.type !== 'NotificationFailed' || callId === null) return undefined;
  const { data } = event as unknown as Extract<DeliveryEvent, { type: 'NotificationFailed' }>;
  if (data.nextAttemptAt === null) return undefined;
  const { approvalId, channelId, kind, nth, recipient, nextAttemptAt } = data;
  const key = { channelId, kind, nth, recipient };
  return { job: { callId, approvalId, key, dueAtMs: null, isRetry: true }, dueAtMs: Date.parse(nextAttemptAt) };
}

const pageSize = 2_000;

/**
 * Plans the retries of the last three days again. Each recorded failure has the time of its next try, and a message
 * that was delivered meanwhile is recognised then.
 */
export async function findFailedDeliveries(
  store: Pick<EventStore, 'readAll' | 'head'>,
  ports: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    /** Where to begin; default: at the beginning of the log. */
    readonly places?: ReadModel['places'] | undefined;
    readonly plan: (job: Job, dueAtMs: number) => void;
  },
): Promise<void> {
  const since = new Date(ports.clock.now() - newsAgeMsMax).toISOString();
  const head = await store.head();
  let after = ports.places?.before(since) ?? 0;
  while (after < head && !ports.signal.aborted) {
    const page = await store.readAll(after, pageSize);
    for (const event of page) {
      const retry = event.recordedAt < since ? undefined : retryOf(event);
      if (retry !== undefined) ports.plan(retry.job, retry.dueAtMs);
    }
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.position;
    await nextTurn();
  }
}
