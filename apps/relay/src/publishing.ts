import { backoffMs } from '@countersign/contracts';
import { MessageTooLargeError } from '@countersign/message-bus';
import type { MessagePublisher, OutgoingMessage } from '@countersign/message-bus';
import { sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import type { RelayMetrics } from './metrics.js';
import { shorten, shortenedHeader } from './shorten.js';

export interface PublishingOptions {
  readonly publisher: MessagePublisher;
  readonly topic: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: RelayMetrics | undefined;
  /** Called with the reason when publishing fails, and when it works again. */
  readonly onInterruption: (why: string | undefined) => void;
}

const backoff = { firstMs: 100, maxMs: 5_000 };

/**
 * Publishes messages in order and retries until they are accepted: a broker outage delays events and never skips one.
 * @returns whether they are published; false when `over` aborted first.
 */
export async function publishAll(
  messages: readonly OutgoingMessage[],
  options: PublishingOptions,
  over: AbortSignal,
): Promise<boolean> {
  const { publisher, topic, clock, log, metrics, onInterruption } = options;
  const startedAt = clock.monotonic();
  for (let failures = 0; !over.aborted;) {
    try {
      await publisher.publish(topic, messages);
      onInterruption(undefined);
      metrics?.published(messages.length, clock.monotonic() - startedAt);
      return true;
    } catch (error) {
      if (error instanceof MessageTooLargeError) return publishInParts(messages, options, over);
      failures += 1;
      metrics?.publishFailed();
      onInterruption(error instanceof Error ? error.message : String(error));
      log.warn({ error, events: messages.length }, 'events cannot be published; retrying');
      await sleep(clock, backoffMs(failures, backoff), over);
    }
  }
  return false;
}

/**
 * Too large together: send one half after the other. Too large alone: send it reduced, so that the events behind it
 * continue.
 */
async function publishInParts(
  messages: readonly OutgoingMessage[],
  options: PublishingOptions,
  over: AbortSignal,
): Promise<boolean> {
  const [only] = messages;
  if (only === undefined) return true;
  if (messages.length > 1) {
    const half = Math.ceil(messages.length / 2);
    return (
      (await publishAll(messages.slice(0, half), options, over)) && publishAll(messages.slice(half), options, over)
    );
  }
  const before = only.headers[shortenedHeader];
  if (before === 'all') throw new Error(`the broker takes not even an event without its data: raise max.message.bytes`);
  options.metrics?.shortened();
  options.log.error({ eventId: only.headers['ce_id'] }, 'an event is too large for the topic; a part of it is omitted');
  return publishAll([shorten(only, before === undefined ? 'large' : 'all')], options, over);
}
