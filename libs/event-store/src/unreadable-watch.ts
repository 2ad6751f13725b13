import { isReadable, unreadableStreamOf } from '@countersign/contracts';
import type { LogEvent, UnreadableStream } from '@countersign/contracts';
import type { Log } from '@countersign/runtime';
import type { EventStore } from './event-store.js';

/** The streams that a process found to be set aside, for its log, metric, readiness and status. */
export interface UnreadableWatch {
  /** The same store, whose events are looked at on their way to the readers. */
  readonly over: <Store extends EventStore>(store: Store) => Store;
  /** Adds those that a read model found in an earlier process. */
  readonly know: (streams: readonly UnreadableStream[]) => void;
  /** In the order of the log. */
  readonly streams: () => readonly UnreadableStream[];
}

/** Tells of each stream once, by its first event that cannot be read. */
export function createUnreadableWatch(log: Log): UnreadableWatch {
  const known = new Map<string, UnreadableStream>();
  const add = (found: UnreadableStream): void => {
    if (known.has(found.stream)) return;
    known.set(found.stream, found);
    log.error(
      { ...found },
      'an event of the log cannot be read: its stream is set aside, and nothing is decided or run on it',
    );
  };
  const look = <Events extends readonly LogEvent[]>(events: Events): Events => {
    for (const event of events) if (!isReadable(event)) add(unreadableStreamOf(event));
    return events;
  };
  return {
    over: (store) => ({
      ...store,
      readStream: async (...given) => look(await store.readStream(...given)),
      readAll: async (...given) => look(await store.readAll(...given)),
      subscribe: (after, handler) =>
        store.subscribe(after, { ...handler, onEvents: (events) => handler.onEvents(look(events)) }),
    }),
    know: (streams) => {
      for (const one of streams) add(one);
    },
    streams: () => [...known.values()].toSorted((one, other) => one.position - other.position),
  };
}
