import { BACKWARDS, END, EventStoreDBClient, FORWARDS, jsonEvent, streamNameFilter } from '@eventstore/db-client';
import type { ResolvedEvent, StreamingRead } from '@eventstore/db-client';
import type { ClientEvent, ClientPage, ClientPosition, ConnectClient, EventStoreClient } from './client.js';
import { createStreamSubscription } from './stream-subscription.js';
import { boundedPage } from './bounded-page.js';
import { allowTlsByAddress } from './tls-by-address.js';
import { guardChannels } from './vendor-channels.js';

/** Skipped events between two checkpoints, in windows of 32: the client's default calls back after every window. */
const checkpointInterval = 100;
/** The buffer of a subscription, in events. When it is full, the server waits. */
const bufferedEvents = 64;

/** The client `@eventstore/db-client` 6.2.1: EventStoreDB, and KurrentDB by its older protocol. */
export const connectDbClient: ConnectClient = (url) => {
  allowTlsByAddress();
  const client = EventStoreDBClient.connectionString(url);
  // Appends use `Append`, one call each, with a working deadline. The client's default, `BatchAppend`, has these
  // faults: an append hangs for ever when the server hangs, half-closes the shared stream, or sends an error without
  // details; one client's error rejects another's appends; a failed look-up of the server's features is cached for
  // good; and the deadline is a time of this machine's clock, so a clock that is 10 s late fails every append.
  Reflect.set(client, 'supports', () => Promise.resolve(false));
  const end = guardChannels(client);
  return {
    append: async (stream, expectedRevision, events, deadlineMs) => {
      const result = await client.appendToStream(
        stream,
        events.map(({ id, type, data, metadata }) => jsonEvent({ id, type, data, metadata })),
        { expectedRevision, deadline: deadlineMs, requiresLeader: true },
      );
      // Only with `throwOnAppendFailure=false` in the connection string.
      if (!result.success) throw conflictAt(result.nextExpectedRevision);
      return { revision: result.nextExpectedRevision, position: result.position };
    },
    readStream: (stream, fromRevision, count, signal) =>
      collect(client.readStream(stream, { fromRevision, maxCount: count, requiresLeader: true }), signal),
    readLast: (stream, count, signal) =>
      collect(
        client.readStream(stream, { fromRevision: END, direction: BACKWARDS, maxCount: count, requiresLeader: true }),
        signal,
      ),
    readAll: (fromPosition, direction, { count, bytesMax }, signal) => {
      const options = { fromPosition, maxCount: count, requiresLeader: true };
      const way = direction === 'forwards' ? FORWARDS : BACKWARDS;
      return page(client.readAll({ ...options, direction: way }), signal, bytesMax);
    },
    subscribeToAll: (after, prefixes) => subscribe(client, after, prefixes),
    dispose: end,
  };
};

/** The vendor's error, without its constructor. */
function conflictAt(revision: bigint): Error {
  const fields = { type: 'wrong-expected-version', actualVersion: revision < 0n ? 'no_stream' : revision };
  return Object.assign(new Error('wrong expected version'), fields);
}

async function collect(read: StreamingRead<ResolvedEvent>, signal: AbortSignal): Promise<readonly ClientEvent[]> {
  return (await page(read, signal, Infinity)).events;
}

async function page(read: StreamingRead<ResolvedEvent>, signal: AbortSignal, bytesMax: number): Promise<ClientPage> {
  const cancel = (): void => {
    read.cancel().catch(() => undefined);
  };
  // An unhandled error event ends the process, and one may come after the read is over.
  read.on('error', () => undefined);
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await boundedPage(eventsOf(read), bytesMax, cancel);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

async function* eventsOf(read: AsyncIterable<ResolvedEvent>): AsyncGenerator<ClientEvent | undefined, void> {
  for await (const resolved of read) yield toEvent(resolved);
}

function subscribe(
  client: EventStoreDBClient,
  after: ClientPosition | 'start',
  prefixes: readonly string[],
): ReturnType<EventStoreClient['subscribeToAll']> {
  const subscription = createStreamSubscription(() => {
    const filter = streamNameFilter({
      prefixes: [...prefixes],
      checkpointInterval,
      // Never throws: an error here would end the process.
      checkpointReached: async (_, position) => {
        subscription.checkpointReached(position);
      },
    });
    const stream = client.subscribeToAll({ fromPosition: after, filter }, { highWaterMark: bufferedEvents });
    return { stream, toEvent: (read) => toEvent(read as ResolvedEvent), cancel: () => stream.unsubscribe() };
  });
  return subscription;
}

function toEvent({ event }: ResolvedEvent): ClientEvent | undefined {
  if (event === undefined) return undefined;
  const { id, type, streamId, revision, data, metadata, created, position } = event;
  return { id, type, streamId, revision, data, metadata, created, position };
}
