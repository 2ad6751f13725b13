import {
  BACKWARDS,
  FORWARDS,
  jsonEvent,
  KurrentDBClient,
  streamNameFilter,
  WrongExpectedVersionError,
} from '@kurrent/kurrentdb-client';
import type { ResolvedEvent } from '@kurrent/kurrentdb-client';
import { createStreamSubscription } from '@countersign/event-store/eventstoredb';
import type { ClientEvent, ConnectClient } from '@countersign/event-store/eventstoredb';

/** The vendor's successor of `@eventstore/db-client`: all that changes with the client is this file. */
export const connectKurrentDb: ConnectClient = (url) => {
  const client = KurrentDBClient.connectionString(url.replace(/^esdb/, 'kurrentdb'));
  // As for the older client: one call an append, with a deadline that works.
  Reflect.set(client, 'supports', () => Promise.resolve(false));
  return {
    append: async (stream, streamState, events, deadline) => {
      const proposed = events.map(({ id, type, data, metadata }) => jsonEvent({ id, type, data, metadata }));
      try {
        const result = await client.appendToStream(stream, proposed, { streamState, deadline, requiresLeader: true });
        return result.nextExpectedRevision;
      } catch (error) {
        throw error instanceof WrongExpectedVersionError
          ? Object.assign(error, { actualVersion: error.actualState })
          : error;
      }
    },
    readStream: (stream, fromRevision, maxCount) =>
      collect(client.readStream(stream, { fromRevision, maxCount, requiresLeader: true })),
    readAll: (fromPosition, direction, maxCount) => {
      const options = { fromPosition, maxCount, requiresLeader: true };
      return collect(client.readAll({ ...options, direction: direction === 'forwards' ? FORWARDS : BACKWARDS }));
    },
    subscribeToAll: (fromPosition, prefixes) => {
      const subscription = createStreamSubscription(() => {
        const filter = streamNameFilter({
          prefixes: [...prefixes],
          checkpointInterval: 100,
          checkpointReached: async (_, position) => {
            subscription.checkpointReached(position);
          },
        });
        const stream = client.subscribeToAll({ fromPosition, filter }, { highWaterMark: 64 });
        return { stream, toEvent: (read) => toEvent(read as ResolvedEvent), cancel: () => stream.unsubscribe() };
      });
      return subscription;
    },
    dispose: async () => {
      await client.dispose();
      const getChannel = Reflect.get(client, 'getChannel') as () => Promise<{ readonly close: () => void }>;
      (await getChannel()).close();
    },
  };
};

async function collect(read: AsyncIterable<ResolvedEvent>): Promise<readonly ClientEvent[]> {
  const events: ClientEvent[] = [];
  for await (const resolved of read) {
    const event = toEvent(resolved);
    if (event !== undefined) events.push(event);
  }
  return events;
}

function toEvent({ event }: ResolvedEvent): ClientEvent | undefined {
  if (event === undefined) return undefined;
  const { id, type, streamId, revision, data, metadata, position } = event;
  // Reads go through a native bridge that keeps whole seconds only (1.3.1); subscriptions do not. One event has one time.
  const created = new Date(Math.floor(event.created.getTime() / 1000) * 1000);
  return { id, type, streamId, revision, data, metadata, created, position };
}
