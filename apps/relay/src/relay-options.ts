import type { EventStore } from '@countersign/event-store';
import type { ExclusiveProgress, MessagePublisher } from '@countersign/message-bus';
import type { Clock, Log } from '@countersign/runtime';
import type { RelayMetrics } from './metrics.js';

/** The dependencies and limits of a relay. */
export interface RelayOptions {
  readonly store: Pick<EventStore, 'subscribe' | 'readAll'>;
  readonly publisher: MessagePublisher;
  /** The leadership among several relays, and the last published position. */
  readonly turns: ExclusiveProgress;
  /** The topic of the recorded events. */
  readonly topic: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: RelayMetrics;
  /** How many events are published together. Default: 1,000. */
  readonly batchMax?: number;
  /** How many bytes are published together. Default: 900,000; a broker accepts one million by default. */
  readonly messageBytesMax?: number;
  /** How often the progress is stored. Default: 200. */
  readonly keepEveryMs?: number;
}
