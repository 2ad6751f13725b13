/**
 * The watermark of a consumer group: the last position before which everything is handled. Messages start in order and
 * end in any order. It stores only unfinished ones, so a slow message does not make it grow.
 */
export interface Watermark<P> {
  /** A place was reached whose message counts as handled. */
  readonly pass: (place: P) => void;
  /** A message at this position is being handled; call the returned function when it is done. */
  readonly begin: (place: P) => () => void;
  /** The last place up to which everything is done. */
  readonly low: () => P;
  /** The last place reached. */
  readonly high: () => P;
}

/** A watermark that starts after `start`. */
export function createWatermark<P>(start: P): Watermark<P> {
  let high = start;
  // In order of beginning: each unfinished message with the place before it.
  const unfinished = new Map<symbol, P>();
  return {
    pass: (place) => {
      high = place;
    },
    begin: (place) => {
      const id = Symbol();
      unfinished.set(id, high);
      high = place;
      return () => {
        unfinished.delete(id);
      };
    },
    low: () => {
      for (const before of unfinished.values()) return before;
      return high;
    },
    high: () => high,
  };
}
