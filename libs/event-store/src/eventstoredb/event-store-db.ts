import type { Clock, Ids, Log } from '@countersign/runtime';
import { createSystemIds } from '@countersign/runtime';
import type { EventStore } from '../event-store.js';
import { EventStoreRewoundError, EventStoreUnavailableError } from '../event-store.js';
import { createMeasuredClock } from '../measured-clock.js';
import { watchTime } from '../time-watch.js';
import { appendedTime } from './appended-time.js';
import { createAppends } from './appends.js';
import type { ConnectClient } from './client.js';
import type { EventStoreDbTimeouts } from './connection.js';
import { readConnectionString, textOf, withoutSecrets } from './connection-string.js';
import type { Endpoint } from './connection-string.js';
import { createMembers } from './members.js';
import type { Members } from './members.js';
import { watchForRewind } from './rewind-watch.js';
import { createConnection } from './watched-connection.js';
import { createReads } from './reads.js';
import { createRecordStreams } from './record-streams.js';
import { createSubscription } from './subscription.js';

/** The dependencies of an event store over EventStoreDB. */
export interface EventStoreDbOptions {
  /** `esdb://…` or `kurrentdb://…`, also with `+discover`; user and password are URL-encoded in it. */
  readonly url: string;
  readonly log: Log;
  readonly clock: Clock;
  /** Chance for the backoff; default: the system's. */
  readonly ids?: Ids;
  readonly timeouts?: EventStoreDbTimeouts;
  /** The prefixes of our streams; other events are skipped. */
  readonly streamPrefixes?: readonly string[];
  /**
   * For a process that does not return what it records: an append returns only its revision, position 0 and no events,
   * and costs one call instead of two. Default: false.
   */
  readonly writeOnly?: boolean;
  /**
   * For a process that only reads: an append throws, and the time of the store, for which some servers need an append, is not asked.
   * Default: false.
   */
  readonly isReader?: boolean;
  /** There was no response although the client was replaced repeatedly: end the process, so that a new one starts. */
  readonly onWedged?: (why: string) => void;
  /** The vendor's client; `connectOf` loads the one for the URL. */
  readonly connect: ConnectClient;
  /** Asks the servers besides the client. Default: gossip, over its own connections. */
  readonly members?: Members;
}

/** The streams of Countersign. */
export const streamPrefixes = [
  'toolCall-',
  'policy-',
  'shadow-policy-',
  'refusals-',
  'runCancellation-',
  'batch-',
  'delivery-',
  'channel-',
  'subject-',
  'grant-',
  'passkeys-',
  'system-',
] as const;

const defaults = { appendMs: 5000, readMs: 10_000, probeMs: 5000, silenceMs: 30_000, wedgedMs: 10_000 };

/**
 * The event store over EventStoreDB or KurrentDB. It opens without waiting for the server: `health` says when it answers.
 *
 * Every call ends within its timeout, also when the server or the client hangs: an append as `unknown`, a read as
 * EventStoreUnavailableError. Have one of these in a process.
 * @throws RangeError when the connection string is not usable.
 * @example const store = openEventStoreDb({ url, connect: await connectOf(url), log, clock });
 */
export function openEventStoreDb(options: EventStoreDbOptions): EventStore {
  const { url, clock, ids = createSystemIds(), connect } = options;
  const server = withoutSecrets(url);
  const log = options.log.child({ eventStore: server });
  const timeouts = { ...defaults, ...options.timeouts };
  const { streamPrefixes: prefixes = streamPrefixes, writeOnly = false, isReader = false } = options;
  const address = naming(server, () => readConnectionString(url));
  const members = options.members ?? naming(server, () => createMembers(address, clock));
  const [only] = address.isCluster ? [] : address.servers;
  const connection = createConnection({
    connect: (one) => connected(connect, address.of(one), server),
    only,
    members,
    clock,
    log,
    probeMs: timeouts.probeMs,
    probeTimeoutMs: timeouts.readMs,
    wedgedMs: timeouts.wedgedMs,
    probe: (client, signal) => client.readAll('end', 'backwards', { count: 1, bytesMax: 1 }, signal),
    onAnswer: (one) => void tellServer(one),
    onWedged: (why) => {
      log.error({ why }, 'the event store does not respond, also not to new clients');
      options.onWedged?.(why);
    },
  });
  const tellServer = async (one: Endpoint): Promise<void> => {
    const [version = 'of an unknown version', { asked }] = await Promise.all([members.version(one), members.look()]);
    const kind = address.isCluster ? `${String(asked)} members` : 'a single node';
    const way = address.isEncrypted ? 'TLS' : 'no TLS';
    // Without TLS the clients send no user.
    const user = address.isEncrypted ? address.user : undefined;
    const fields = {
      version,
      members: asked,
      leader: textOf(one),
      tls: address.isEncrypted,
      user: user ?? null,
    };
    log.info(
      fields,
      `${productOf(version)} ${version}, ${kind}, ${way}, ${user === undefined ? 'no user' : `as ${user}`}`,
    );
  };
  const ports = { connection, clock, ids, log, prefixes, ...timeouts };
  const reads = createReads(ports);
  const rewind = watchForRewind({
    clock,
    log,
    closing: connection.closing,
    everyMs: timeouts.probeMs,
    reads,
  });
  const writer = async (): Promise<Endpoint> => (await connection.linked()).server;
  const { closing } = connection;
  const time = createMeasuredClock(clock, closing);
  const ask = async () => {
    const answer = await members.time(await writer());
    return answer === 'undated' ? appendedTime(ports) : answer;
  };
  if (!isReader) watchTime({ ...{ time, clock, log, closing, ask }, server: async () => textOf(await writer()) });
  const append = createAppends({ ...ports, reads, writeOnly, time });
  log.info({}, 'the event store is opened');
  return {
    append: async (...given) => {
      if (isReader) throw new TypeError('this process only reads the event store');
      rewind.check();
      const known = rewind.known();
      const result = await append(...given);
      if (result.status !== 'committed' || writeOnly) return result;
      // Attack: the store was put back a moment ago, and the stream that was decided on has lost its cancellation or its claim.
      const doubt = result.position > known.end ? undefined : await rewind.doubtOf(known);
      const last = result.events.at(-1);
      if (doubt === undefined && last !== undefined) rewind.saw(last);
      return doubt === undefined ? result : { status: 'unknown', cause: new EventStoreRewoundError(doubt) };
    },
    readStream: (stream, fromRevision = 0) => reads.readStream(stream, fromRevision),
    lossOf: reads.lossOf,
    readAll: reads.readAll,
    subscribe: (after, handler) => {
      if (connection.closing.aborted) throw new EventStoreUnavailableError('the event store is closed');
      return createSubscription({ ...ports, reads, saw: rewind.saw, lost: rewind.lost }, after, handler);
    },
    head: reads.head,
    records: createRecordStreams(ports),
    health: () => {
      const why = rewind.why();
      if (why !== undefined) return { status: 'unavailable', why };
      const [health, doubt] = [connection.health(), time.doubt()];
      return health.status !== 'ok' || doubt === undefined ? health : { status: 'unavailable', why: doubt };
    },
    clock: time,
    close: connection.close,
  };
}

/** The product has another name from version 25 on. */
function productOf(version: string): string {
  return Number.parseInt(version, 10) >= 25 ? 'KurrentDB' : 'EventStoreDB';
}

function connected(connect: ConnectClient, url: string, server: string): ReturnType<ConnectClient> {
  try {
    return connect(url);
  } catch {
    // The client's own error repeats the connection string, password and all.
    throw new RangeError(`the connection string of the event store (${server}) is not usable`);
  }
}

/** Returns the problem of a connection string. It does not repeat the error of `work`. */
function naming<T>(server: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const message = `the connection string of the event store (${server}) is not usable: ${(error as Error).message}`;
    throw new RangeError(message, { cause: error });
  }
}
