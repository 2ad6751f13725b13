import type { LogEvent, NewEvent, RecordedEvent, UnreadableEvent } from '@countersign/contracts';
import type { RecordStreams } from './record-streams.js';
import type { StoreClock } from './store-clock.js';

/** The expected revision of a stream that must not exist. */
export const noStream = -1;

/**
 * The result of an append. `unknown`: it may or may not be written; retry it with the same event ids and the same
 * expected revision until the result is known.
 */
export type AppendResult =
  | {
      readonly status: 'committed';
      readonly revision: number;
      readonly position: number;
      /** The recorded events; empty when the store does not read back. */
      readonly events: readonly RecordedEvent[];
    }
  | { readonly status: 'conflict'; readonly actualRevision: number }
  | { readonly status: 'unknown'; readonly cause: unknown };

/** What is known of the events of an append. */
export interface AppendOptions {
  /**
   * The ids were made for these very events, at random: no other try has recorded anything under them. A store need not read back
   * what it took at once. The result then has the events as they were proposed; each with the position of the last one, and
   * recorded when the answer came, by the store's clock.
   */
  readonly areNew?: boolean;
}

/** Receives the log in order. Calls never overlap: a promise of `onEvents` is awaited. */
export interface SubscriptionHandler {
  /** Prefixes of stream names: no event of another stream is delivered. Default: every event. */
  readonly streams?: readonly string[];
  /**
   * At least one event, in log order, without gaps or duplicates. On the embedded store a synchronous handler sees each
   * commit before its writer is acknowledged; an asynchronous one may lag.
   */
  readonly onEvents: (events: readonly LogEvent[]) => void | Promise<void>;
  /** The subscription has read all that was recorded. Called again each time it catches up. */
  readonly onCaughtUp?: () => void;
  /** The handler threw or the log could not be read: the subscription is over. */
  readonly onError: (error: unknown) => void;
}

export interface Subscription {
  /** Stops it and waits for a running `onEvents`. */
  readonly stop: () => Promise<void>;
}

/** The state of the store, for `/readyz`. */
export type StoreHealth =
  { readonly status: 'ok' } | { readonly status: 'read-only' | 'unavailable'; readonly why: string };

/**
 * The source of truth: streams of events in one total order.
 *
 * MUST for every adapter (the contract suite proves it): a committed event is durable, ordered, never altered; an
 * append is atomic; exactly one of several appends with the same expected revision commits; a retry of a committed
 * append (same ids, same expected revision) returns `committed` with the first revision and writes nothing. An event
 * that this version cannot read is returned as such, in its place: it ends no read and no subscription.
 */
export interface EventStore {
  /**
   * Appends all events to one stream, or none.
   * @throws EventStoreUnavailableError when certainly nothing was written and a retry may succeed (disk full, closed,
   *   unreachable).
   */
  readonly append: (
    stream: string,
    expectedRevision: number,
    events: readonly NewEvent[],
    options?: AppendOptions,
  ) => Promise<AppendResult>;
  /** The events of a stream in order, from `fromRevision` (default 0); empty when there is no such stream. */
  readonly readStream: (stream: string, fromRevision?: number) => Promise<readonly LogEvent[]>;
  /**
   * For a stream that shows no events: says that it had some, which an admin hid. Undefined when nothing tells so. Absent in a
   * store where no one can delete a stream.
   */
  readonly lossOf?: (stream: string) => Promise<UnreadableEvent | undefined>;
  /**
   * At most `limit` events of the whole log after a position (exclusive), in order; fewer when they are large. Empty only
   * at the end of the log. The position is 0, that of an event, or one after the end.
   * @throws QuestionRefusedError for any other position, where the store cannot read from there.
   */
  readonly readAll: (after: number, limit: number) => Promise<readonly LogEvent[]>;
  /** Everything after a position (exclusive; 0, or that of an event), first recorded, then live. */
  readonly subscribe: (after: number, handler: SubscriptionHandler) => Subscription;
  /** The position of the last recorded event; 0 for an empty log. */
  readonly head: () => Promise<number>;
  readonly health: () => StoreHealth;
  /**
   * Reads for those who only look: an event that is not what was recorded, or is missing, is returned in its place as one that
   * cannot be read, and ends no read. Nothing may be decided on it. Absent in a store that finds no such damage itself.
   */
  readonly sound?: SoundReads;
  /** Streams of records that no reader of the log sees. Absent in a store of one process, which has files for them. */
  readonly records?: RecordStreams;
  /** The store's time: what decides and records takes the time from it. */
  readonly clock: StoreClock;
  readonly close: () => Promise<void>;
}

/** Reads that go on past damage. @throws EventStoreDamagedError when nobody knows where the damage is. */
export type SoundReads = Pick<EventStore, 'readStream' | 'readAll'>;

/** The reads of a store for those who only look. */
export function soundReadsOf(store: SoundReads & Pick<EventStore, 'sound'>): SoundReads {
  return store.sound ?? store;
}

/** Nothing was written; a retry may succeed. */
export class EventStoreUnavailableError extends Error {
  override readonly name: string = 'EventStoreUnavailableError';
}

/**
 * The log was restored to an older state under a running process, so the process knows later events. Nothing was
 * written.
 */
export class EventStoreRewoundError extends EventStoreUnavailableError {
  override readonly name: string = 'EventStoreRewoundError';
}

/**
 * A key that is needed cannot be had at the moment: sensitive values can be neither recorded nor read. Calls without them
 * go on.
 */
export class KeysUnavailableError extends EventStoreUnavailableError {
  override readonly name: string = 'KeysUnavailableError';
}

/** The events of one append are larger than the store accepts: nothing was written, and no retry can succeed. */
export class EventTooLargeError extends RangeError {
  override readonly name = 'EventTooLargeError';
}

/** Stored bytes are not those that were recorded. Restore the store from a backup; never repair it by hand. */
export class EventStoreDamagedError extends Error {
  override readonly name = 'EventStoreDamagedError';
  /** The first position known to be damaged, if known. */
  readonly position: number | undefined;
  readonly stream: string | undefined;

  constructor(
    message: string,
    where: { readonly position?: number; readonly stream?: string; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: where.cause });
    this.position = where.position;
    this.stream = where.stream;
  }
}
