import type { EventStore } from '@countersign/event-store';
import type { Clock } from '@countersign/runtime';
import type { TellCommit } from '@countersign/shell';

/** A store that tells of each append that it committed. Its time is what the caller waited. */
export function createMeasuredStore(store: EventStore, clock: Pick<Clock, 'monotonic'>, tell: TellCommit): EventStore {
  return {
    ...store,
    append: async (stream, expectedRevision, events, options) => {
      const startedAt = clock.monotonic();
      const result = await store.append(stream, expectedRevision, events, options);
      if (result.status === 'committed') tell({ events: events.length, durationMs: clock.monotonic() - startedAt });
      return result;
    },
  };
}
