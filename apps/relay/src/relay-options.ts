import type { EventStore } from '@countersign/event-store';
import type { ExclusiveProgress, MessagePublisher } from '@countersign/message-bus';
import type { Clock, Log } from '@countersign/runtime';
import type { RelayMetrics } from './metrics.js';

/** What a relay stands on, and how it publishes. */
export interface RelayOptions {
  readonly store: Pick<EventStore, 'subscribe' | 'readAll'>;
  readonly publisher: MessagePublisher;
  /** Which of several relays is the active one, and how far the last one was. */
  readonly turns: ExclusiveProgress;
  /** The topic of the recorded events. */
  readonly topic: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: RelayMetrics;
  /** How many events are published together. Default 1,000. */
  readonly batchMax?: number;
  /** How many bytes are published together; a broker takes a million unless told otherwise. Default 900,000. */
  readonly messageBytesMax?: number;
  /** How often the progress is kept. Default 200. */
  readonly keepEveryMs?: number;
}
