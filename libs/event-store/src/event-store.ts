import type { NewEvent, RecordedEvent } from '@countersign/contracts';

/** The expected revision of a stream that must not exist yet. */
export const noStream = -1;

/**
 * What became of an append. `unknown`: it may or may not be written; repeat it with the same event ids and the same
 * expected revision until the answer is another one.
 */
export type AppendResult =
  | {
      readonly status: 'committed';
      readonly revision: number;
      readonly position: number;
      /** As they are recorded; none where the store was told to read nothing back. */
      readonly events: readonly RecordedEvent[];
    }
  | { readonly status: 'conflict'; readonly actualRevision: number }
  | { readonly status: 'unknown'; readonly cause: unknown };

/** Receives the log in order. Never called concurrently with itself; an `onEvents` that returns a promise is awaited. */
export interface SubscriptionHandler {
  /**
   * At least one event, in log order, without gap or repeat. On the embedded store, a handler that is done when it
   * returns sees each commit before its writer is answered; one that returns a promise follows behind.
   */
  readonly onEvents: (events: readonly RecordedEvent[]) => void | Promise<void>;
  /** The subscription has read all that was recorded when it looked. Called again each time it catches up after falling behind. */
  readonly onCaughtUp?: () => void;
  /** The handler threw or the log could not be read: the subscription is over. */
  readonly onError: (error: unknown) => void;
}

export interface Subscription {
  /** Stops it and waits for a running `onEvents`. */
  readonly stop: () => Promise<void>;
}

/** How healthy the store is, for `/readyz`. */
export type StoreHealth =
  { readonly status: 'ok' } | { readonly status: 'read-only' | 'unavailable'; readonly why: string };

/**
 * The only truth: streams of events in one total order.
 *
 * MUST for every adapter (the contract suite proves it): a committed event is durable, ordered, never altered; an append
 * is atomic; exactly one of several appends with the same expected revision commits; a repeat of a committed append (same
 * ids, same expected revision) answers `committed` with the first revision and writes nothing.
 */
export interface EventStore {
  /**
   * Appends all events to one stream, or none.
   * @throws EventStoreUnavailableError when certainly nothing was written and a later try may succeed (disk full, closed, down).
   */
  readonly append: (stream: string, expectedRevision: number, events: readonly NewEvent[]) => Promise<AppendResult>;
  /** The events of a stream in order, from `fromRevision` (default 0); empty when there is no such stream. */
  readonly readStream: (stream: string, fromRevision?: number) => Promise<readonly RecordedEvent[]>;
  /**
   * At most `limit` events of the whole log after a position (exclusive), in order; fewer when they are large. Empty only
   * at the end of the log.
   */
  readonly readAll: (after: number, limit: number) => Promise<readonly RecordedEvent[]>;
  /** Everything after a position (exclusive), first what is recorded, then live. */
  readonly subscribe: (after: number, handler: SubscriptionHandler) => Subscription;
  /** The position of the last recorded event; 0 for an empty log. */
  readonly head: () => Promise<number>;
  readonly health: () => StoreHealth;
  readonly close: () => Promise<void>;
}

/** Nothing was written; a later try may succeed. */
export class EventStoreUnavailableError extends Error {
  override readonly name: string = 'EventStoreUnavailableError';
}

/** The log was put back to an older state under a running process: what this process knows of it is ahead. Nothing was written. */
export class EventStoreRewoundError extends EventStoreUnavailableError {
  override readonly name: string = 'EventStoreRewoundError';
}

/** The events of one append weigh more than the store takes: nothing was written, and no repeat makes it better. */
export class EventTooLargeError extends RangeError {
  override readonly name = 'EventTooLargeError';
}

/** Stored bytes are not those that were recorded. Restore the store from a backup; never repair it by hand. */
export class EventStoreDamagedError extends Error {
  override readonly name = 'EventStoreDamagedError';
  /** The first position known to be damaged, where one is known. */
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
