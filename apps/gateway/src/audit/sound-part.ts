import type { LogEvent } from '@countersign/contracts';
import { EventStoreDamagedError } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';

/** What was read of the log: the sound events, the positions of the others, and how far was read. */
export interface SoundPart {
  readonly events: readonly LogEvent[];
  readonly missing: readonly number[];
  readonly end: number;
}

/** Reads at most `limit` events after a position. */
export type ReadPart = (after: number, limit: number) => Promise<SoundPart>;

type Store = Pick<EventStore, 'readAll'>;

/** Reads the log. A damaged event is an error. */
export function wholePart(store: Store): ReadPart {
  return async (after, limit) => {
    const events = await store.readAll(after, limit);
    return { events, missing: [], end: events.at(-1)?.position ?? after };
  };
}

/** Reads what is sound, up to the first damaged event and with its position. @throws EventStoreDamagedError when nobody knows where. */
export function soundPart(store: Store): ReadPart {
  const whole = wholePart(store);
  return async (after, limit) => {
    try {
      return await whole(after, limit);
    } catch (error) {
      const at = error instanceof EventStoreDamagedError ? error.position : undefined;
      if (at === undefined || at <= after || at > after + limit) throw error;
      const before = at - after - 1;
      const sound = before === 0 ? { events: [], end: after } : await whole(after, before);
      // A page of large events may end before.
      return sound.end < at - 1 ? { ...sound, missing: [] } : { events: sound.events, missing: [at], end: at };
    }
  };
}
