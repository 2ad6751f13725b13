/**
 * How far a consumer group is: the last place before which everything is handled. Messages are begun in order and end
 * in any order. It holds only what is unfinished, so that one slow message does not make it grow.
 */
export interface Watermark<P> {
  /** A place was reached whose message counts as handled. */
  readonly pass: (place: P) => void;
  /** A place was reached whose message is being handled; call the answer when it is done. */
  readonly begin: (place: P) => () => void;
  /** The last place up to which everything is done. */
  readonly low: () => P;
  /** The last place reached. */
  readonly high: () => P;
}

/** A watermark that starts behind `start`. */
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
