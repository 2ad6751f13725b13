import type { LogEvent } from '@countersign/contracts';

/** A source of the log: an event store, or a part of one. */
export interface LogSource {
  /**
   * At most `limit` events after a position (exclusive), in order; empty only at the end of the log.
   * @throws QuestionRefusedError when no event has the position and the source cannot read from there.
   */
  readonly readAll: (after: number, limit: number) => Promise<readonly LogEvent[]>;
  /** The position of the last recorded event; 0 for an empty log. */
  readonly head: () => Promise<number>;
}

/** The model has seen events that the log does not have: the log was rewound or restored from a backup. */
export class LogRewoundError extends Error {
  override readonly name = 'LogRewoundError';
}

/**
 * Places to read the log from. A store may read its log from the position of an event, and from nowhere else: neither a
 * position that a client has named nor a time is such a place.
 */
export interface PlaceReads {
  /**
   * The last known place up to which everything was recorded before a time (a stored time); 0 when there is none. A few
   * events after it may be earlier, too.
   */
  readonly before: (time: string) => number;
  /** The last known place at or before a position; 0 when there is none. A few events may lie between. */
  readonly upTo: (position: number) => number;
}
