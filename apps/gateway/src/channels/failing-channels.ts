import { setImmediate as nextTurn } from 'node:timers/promises';
import { isReadable } from '@countersign/contracts';
import type { LogEvent } from '@countersign/contracts';
import type { GatewayPorts } from '../ports.js';

type Ports = Pick<GatewayPorts, 'store' | 'readModel' | 'clock' | 'log'>;

/** The channels whose last message failed, by the log. */
export interface FailingChannels {
  readonly has: (channelId: string) => boolean;
  readonly learn: (events: readonly LogEvent[]) => void;
  /** Learns from the time before the start. Resolves when that is done, or given up. */
  readonly recover: (signal: AbortSignal) => Promise<void>;
}

/** For this long the notifier retries a message. A failure of before is none of a message that waits. */
const lookBackMs = 72 * 3_600_000;
const pageSize = 2_000;

export function createFailingChannels({ store, readModel, clock, log }: Ports): FailingChannels {
  const failing = new Map<string, boolean>();
  const recover = async (signal: AbortSignal): Promise<void> => {
    const earlier = new Map<string, boolean>();
    const since = new Date(clock.now() - lookBackMs).toISOString();
    const head = await store.head();
    let after = readModel.places.before(since);
    while (after < head && !signal.aborted) {
      const page = await store.readAll(after, pageSize);
      for (const event of page) note(event, earlier);
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.position;
      await nextTurn();
    }
    // A result that came during the read is newer.
    for (const [channelId, fails] of earlier) if (!failing.has(channelId)) failing.set(channelId, fails);
  };
  return {
    has: (channelId) => failing.get(channelId) === true,
    learn: (events) => {
      for (const event of events) note(event, failing);
    },
    recover: (signal) =>
      recover(signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn({ error }, 'the log cannot be read for channels that failed before the start');
      }),
  };
}

function note(event: LogEvent, failing: Map<string, boolean>): void {
  if (!isReadable(event)) return;
  const { type, data } = event;
  const { channelId, nextAttemptAt } = data as { readonly channelId: string; readonly nextAttemptAt?: string | null };
  // A message that is given up says nothing about the channel.
  if (type === 'NotificationFailed' && nextAttemptAt !== null) failing.set(channelId, true);
  if (type === 'NotificationDelivered' || type === 'NotificationUpdated') failing.set(channelId, false);
}
