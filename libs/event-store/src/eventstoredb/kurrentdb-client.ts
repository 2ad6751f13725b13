import {
  BACKWARDS,
  END,
  FORWARDS,
  jsonEvent,
  KurrentDBClient,
  streamNameFilter,
  WrongExpectedVersionError,
} from '@kurrent/kurrentdb-client';
import type { ResolvedEvent } from '@kurrent/kurrentdb-client';
import { boundedPage } from './bounded-page.js';
import type { ClientEvent, ClientPage, ClientPosition, ConnectClient, EventStoreClient } from './client.js';
import { createStreamSubscription } from './stream-subscription.js';
import { guardChannels } from './vendor-channels.js';

/** Skipped events between two checkpoints, in windows of 32: the client's default calls back after every window. */
const checkpointInterval = 100;
/** The buffer of a subscription, in events. When it is full, the server waits. */
const bufferedEvents = 64;

/** The client `@kurrent/kurrentdb-client` 1.3.1: KurrentDB, and EventStoreDB by the protocol that both speak. */
export const connectKurrentDb: ConnectClient = (url) => {
  const open = (): KurrentDBClient => KurrentDBClient.connectionString(withQuickDiscovery(url));
  const client = open();
  // Once its native bridge has met an unavailable server, it may stay unavailable for good. The next read uses another
  // one.
  let reader = client;
  const readPage = async (
    signal: AbortSignal,
    bytesMax: number,
    start: (from: KurrentDBClient) => AsyncIterable<ResolvedEvent>,
  ): Promise<ClientPage> => {
    const used = reader;
    try {
      return await boundedPage(eventsOf(start(used), signal), bytesMax);
    } catch (error) {
      if (isUnavailable(error) && used === reader) reader = open();
      throw bridgeError(error);
    }
  };
  const read = async (signal: AbortSignal, start: Parameters<typeof readPage>[2]) =>
    (await readPage(signal, Infinity, start)).events;
  // One call per append, with a working deadline, the same as in the older client.
  Reflect.set(client, 'supports', () => Promise.resolve(false));
  const end = guardChannels(client);
  return {
    append: async (stream, streamState, events, deadline) => {
      const proposed = events.map(({ id, type, data, metadata }) => jsonEvent({ id, type, data, metadata }));
      try {
        const result = await client.appendToStream(stream, proposed, { streamState, deadline, requiresLeader: true });
        // Only with `throwOnAppendFailure=false` in the connection string.
        if (!result.success) throw conflictAt(result.nextExpectedRevision);
        return { revision: result.nextExpectedRevision, position: result.position };
      } catch (error) {
        throw error instanceof WrongExpectedVersionError
          ? Object.assign(error, { actualVersion: error.actualState })
          : error;
      }
    },
    readStream: (stream, fromRevision, maxCount, signal) =>
      read(signal, (from) => from.readStream(stream, { fromRevision, maxCount, requiresLeader: true })),
    readLast: (stream, maxCount, signal) =>
      read(signal, (from) =>
        from.readStream(stream, { fromRevision: END, direction: BACKWARDS, maxCount, requiresLeader: true }),
      ),
    readAll: (fromPosition, direction, { count: maxCount, bytesMax }, signal) => {
      const options = { fromPosition, maxCount, requiresLeader: true };
      const way = direction === 'forwards' ? FORWARDS : BACKWARDS;
      const page = () => readPage(signal, bytesMax, (from) => from.readAll({ ...options, direction: way }));
      const end = { fromPosition: 'end', direction: BACKWARDS, maxCount: 1, requiresLeader: true } as const;
      return typeof fromPosition === 'string'
        ? page()
        : unlessRefused(page, () => read(signal, (from) => from.readAll(end)));
    },
    subscribeToAll: (after, prefixes) => subscribe(client, after, prefixes),
    dispose: end,
  };
};

/**
 * The native bridge "discovers" even a single server: by default after half a second, and never with
 * `maxDiscoverAttempts=1`. The adapter itself finds the leader, so these options do not apply to the one server given
 * here.
 */
function withQuickDiscovery(url: string): string {
  const [server = '', query = ''] = url.split('?');
  const kept = query
    .split('&')
    .filter((option) => option !== '' && !/^(maxDiscoverAttempts|discoveryInterval)=/i.test(option));
  return `${server}?${[...kept, 'discoveryInterval=50'].join('&')}`;
}

/** The error that the adapter expects, without the constructor of the vendor's. */
function conflictAt(revision: bigint): Error {
  const fields = { type: 'wrong-expected-version', actualVersion: revision < 0n ? 'no_stream' : revision };
  return Object.assign(new Error('wrong expected version'), fields);
}

/**
 * The native bridge cannot cancel a read. An aborted read accepts no further event; its call ends with the server's
 * response.
 */
async function* eventsOf(
  read: AsyncIterable<ResolvedEvent>,
  signal: AbortSignal,
): AsyncGenerator<ClientEvent | undefined, void> {
  for await (const resolved of read) {
    signal.throwIfAborted();
    yield toEvent(resolved);
  }
}

/**
 * A place where no event begins looks like an unavailable server, too. It is one if the server answers before and after it
 * refuses that place again.
 */
async function unlessRefused<T>(page: () => Promise<T>, end: () => Promise<unknown>): Promise<T> {
  try {
    return await page();
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    await end();
    try {
      return await page();
    } catch (again) {
      if (!isUnavailable(again)) throw again;
      await end();
      throw Object.assign(new Error('InvalidPosition: the server reads from other places', { cause: again }), {
        type: 'unknown',
      });
    }
  }
}

function isUnavailable(error: unknown): boolean {
  return (error as { readonly type?: unknown }).type === 'unavailable';
}

/** The bridge drops the server's words: a refused connection and a server that is not ready look the same. */
function bridgeError(error: unknown): unknown {
  const { type, message } = error as { readonly type?: unknown; readonly message?: unknown };
  if (isUnavailable(error)) {
    return Object.assign(new Error('No connection established, or the server is not ready', { cause: error }), {
      type,
    });
  }
  return type === 'unknown' && /Operation timed out/.test(String(message))
    ? Object.assign(new Error(String(message), { cause: error }), { type: 'timeout' })
    : error;
}

function subscribe(
  client: KurrentDBClient,
  fromPosition: ClientPosition | 'start',
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
    const stream = client.subscribeToAll({ fromPosition, filter }, { highWaterMark: bufferedEvents });
    return { stream, toEvent: (read) => toEvent(read as ResolvedEvent), cancel: () => stream.unsubscribe() };
  });
  return subscription;
}

function toEvent({ event }: ResolvedEvent): ClientEvent | undefined {
  if (event === undefined) return undefined;
  const { id, type, streamId, revision, data, metadata, position } = event;
  // Reads use the native bridge, which has whole seconds only; subscriptions do not use it. One event has one time.
  const created = new Date(Math.floor(event.created.getTime() / 1000) * 1000);
  return { id, type, streamId, revision, data, metadata, created, position };
}
