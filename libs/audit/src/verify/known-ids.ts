import type { Finding } from './findings.js';

/** An id that two events have. */
export interface RepeatedId {
  /** Null: it is no UUID, so that only its hash was kept. */
  readonly eventId: string | null;
  /** The index of the later event. */
  readonly index: number;
  /** The index of the event that had the id before. */
  readonly first: number;
}

/** Remembers the ids of a log. A `Map` is enough for a short one; a verifier of large logs keeps them in a file. */
export interface KnownIds {
  readonly add: (eventId: string, index: number) => void;
  /** Call it after the last event. */
  readonly repeated: () => Iterable<RepeatedId>;
}

/** Keeps the ids in memory. */
export function createKnownIds(): KnownIds {
  const known = new Map<string, number>();
  const repeated: RepeatedId[] = [];
  return {
    add: (eventId, index) => {
      const first = known.get(eventId);
      if (first === undefined) known.set(eventId, index);
      else repeated.push({ eventId, index, first });
    },
    repeated: () => repeated,
  };
}

/**
 * Attack: an event gets the id of an event in another stream, so that a reader who knows the one skips the other as a
 * duplicate. An honest log never has it: an id is random, or derived from its stream.
 */
export function findingOfRepeated({ eventId, index, first }: RepeatedId): Finding {
  const detail = `the event at index ${String(first)} has the same id`;
  return { check: 'order', ok: false, index, eventId, stream: null, detail };
}
