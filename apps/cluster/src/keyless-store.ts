import { EventStoreUnavailableError } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';

type Recorded = Awaited<ReturnType<EventStore['readAll']>>;

/** A store for a process without keys: it refuses a log with sealed values, which it would show and record wrongly. */
export function createKeylessStore(raw: EventStore, fail: (why: string) => void): EventStore {
  const checked = (events: Recorded): Recorded => {
    if (!events.some(({ metadata }) => metadata.sealed !== undefined)) return events;
    const why =
      'the log has encrypted values: set COUNTERSIGN_KEEPER_URL to the keeper that the other processes of the cluster use';
    fail(why);
    throw new EventStoreUnavailableError(why);
  };
  return {
    ...raw,
    readStream: async (stream, fromRevision) => checked(await raw.readStream(stream, fromRevision)),
    readAll: async (after, limit) => checked(await raw.readAll(after, limit)),
    subscribe: (after, handler) =>
      raw.subscribe(after, { ...handler, onEvents: (events) => handler.onEvents(checked(events)) }),
  };
}
