import { QuestionRefusedError } from '@countersign/contracts';
import type { LogEvent } from '@countersign/contracts';
import type { EventStore, SoundReads } from './event-store.js';
import { storeOver } from './store-over.js';
import type { EventWays } from './store-over.js';

/** The distance between two positions. */
const gap = 10;

/**
 * A store whose positions have gaps, and which reads its log from the position of an event only, as EventStoreDB does:
 * tests that run on an embedded store find questions that a real server refuses.
 */
export function createSparseStore(store: EventStore): EventStore {
  const spread = <Event extends LogEvent>(events: readonly Event[]): readonly Event[] =>
    events.map((event) => ({ ...event, position: event.position * gap }));
  const placeOf = async (after: number): Promise<number> => {
    const end = await store.head();
    if (after % gap !== 0 && after < end * gap)
      throw new QuestionRefusedError(`no event is at position ${String(after)}`);
    return Math.ceil(after / gap);
  };
  const spreadReads = ({ readStream, readAll }: SoundReads): SoundReads => ({
    readStream: async (...given) => spread(await readStream(...given)),
    readAll: async (after, limit) => spread(await readAll(await placeOf(after), limit)),
  });
  const ways: EventWays = {
    append: async (...given) => {
      const result = await store.append(...given);
      return result.status === 'committed'
        ? { ...result, position: result.position * gap, events: spread(result.events) }
        : result;
    },
    ...spreadReads(store),
    sound: store.sound && spreadReads(store.sound),
    lossOf: store.lossOf,
    subscribe: (after, handler) =>
      store.subscribe(Math.ceil(after / gap), { ...handler, onEvents: (events) => handler.onEvents(spread(events)) }),
  };
  return storeOver(store, ways, { head: async () => (await store.head()) * gap });
}
