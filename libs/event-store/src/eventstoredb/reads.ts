import { weigh } from '@countersign/contracts';
import type { RecordedEvent } from '@countersign/contracts';
import { EventStoreDamagedError, EventStoreUnavailableError } from '../event-store.js';
import type { ClientEvent, ClientPosition, EventStoreClient } from './client.js';
import type { Connection } from './connection.js';
import { whyOf } from './denied.js';
import { fromClientEvent, positionOf } from './encoding.js';
import { meaningOf } from './errors.js';
import { withRetries } from './retries.js';
import type { RetryPorts } from './retries.js';

/** The dependencies of reading. */
export interface ReadPorts extends RetryPorts {
  readonly connection: Connection;
  readonly readMs: number;
  readonly prefixes: readonly string[];
}

/** The reads of the port. */
export interface Reads {
  readonly readStream: (stream: string, fromRevision: number, limit?: number) => Promise<readonly RecordedEvent[]>;
  readonly readAll: (after: number, limit: number) => Promise<readonly RecordedEvent[]>;
  readonly head: () => Promise<number>;
}

/** The page size in events; the deadline applies to each page. */
const pageSize = 500;
const firstPage = 64;
/**
 * Attack: thousands of events with large arguments are read at once. A read of the log ends early beyond this many
 * bytes.
 */
const bytesMax = 8 * 1024 * 1024;
const firstHeadPage = 16;

/** Reads that end: each page by its deadline, tried again when the server was only restarting or not the leader. */
export function createReads(ports: ReadPorts): Reads {
  const page = createPages(ports);
  const own = (event: ClientEvent): RecordedEvent | undefined => fromClientEvent(event, ports.prefixes);
  return {
    readStream: async (stream, fromRevision, limit = Infinity) => {
      const events: RecordedEvent[] = [];
      while (events.length < limit) {
        const count = Math.min(pageSize, limit - events.length);
        const found = await page.ofStream(stream, fromRevision + events.length, count);
        for (const event of found) events.push(nextOf(stream, fromRevision + events.length, own(event)));
        if (found.length < count) break;
      }
      return events;
    },
    readAll: async (after, limit) => {
      const events: RecordedEvent[] = [];
      // The server cannot filter a read. It begins at its position: what is there has been read before.
      let [from, passed] = [startAt(after), after];
      // One more than wanted, because the first one was read before; larger pages when the events are small.
      let [count, bytes] = [Math.min(firstPage, limit + 1), 0];
      while (events.length < limit && bytes < bytesMax) {
        const found = await page.ofAll(from, 'forwards', count);
        for (const event of found) {
          if (positionOf(event) <= passed) continue;
          passed = positionOf(event);
          const recorded = own(event);
          if (recorded === undefined || events.length === limit) continue;
          events.push(recorded);
          bytes += weigh(recorded);
        }
        if (found.length < count) break;
        from = found.at(-1)?.position ?? from;
        count = Math.min(pageSize, Math.max(firstPage, Math.floor((events.length * bytesMax) / Math.max(1, bytes))));
      }
      return events;
    },
    head: createHead(page.ofAll, own),
  };
}

/** A start position: before its first event the server knows only the start. */
export function startAt(after: number): ClientPosition | 'start' {
  return after === 0 ? 'start' : { commit: BigInt(after), prepare: BigInt(after) };
}

function nextOf(stream: string, revision: number, event: RecordedEvent | undefined): RecordedEvent {
  if (event?.revision === revision) return event;
  const what =
    event === undefined ? 'was not written by Countersign' : `is missing; revision ${event.revision} follows`;
  // A truncated stream or a limit on its age or count loses history; a foreign event among ours makes any fold a guess.
  throw new EventStoreDamagedError(`revision ${revision} of ${stream} ${what}`, { stream });
}

interface Pages {
  readonly ofStream: (stream: string, from: number, count: number) => Promise<readonly ClientEvent[]>;
  readonly ofAll: (
    from: ClientPosition | 'start' | 'end',
    direction: 'forwards' | 'backwards',
    count: number,
  ) => Promise<readonly ClientEvent[]>;
}

function createPages(ports: ReadPorts): Pages {
  const { connection, readMs } = ports;
  const page = <T>(work: (client: EventStoreClient, signal: AbortSignal) => Promise<T>): Promise<T> =>
    connection.call(readMs, work);
  /** A timeout is not tried again: the caller has waited long enough. */
  const read = async <T>(work: () => Promise<T>, stream?: string): Promise<T> => {
    try {
      return await withRetries(ports, (verdict) => isTransient(verdict), work);
    } catch (error) {
      throw readError(error, stream);
    }
  };
  return {
    ofStream: (stream, from, count) =>
      read(async () => {
        try {
          return await page((client, signal) => client.readStream(stream, BigInt(from), count, signal));
        } catch (error) {
          if (meaningOf(error).kind === 'stream-not-found') return [];
          throw error;
        }
      }, stream),
    ofAll: (from, direction, count) =>
      read(() => page((client, signal) => client.readAll(from, direction, count, signal))),
  };
}

function isTransient(verdict: ReturnType<typeof meaningOf>): boolean {
  return (verdict.kind === 'not-written' && verdict.transient) || (verdict.kind === 'unknown' && !verdict.timedOut);
}

function readError(error: unknown, stream: string | undefined): unknown {
  if (error instanceof EventStoreUnavailableError) return error;
  if (meaningOf(error).kind === 'stream-deleted') {
    return new EventStoreDamagedError(`${stream ?? 'a stream'} was deleted`, {
      ...(stream === undefined ? {} : { stream }),
      cause: error,
    });
  }
  return new EventStoreUnavailableError(
    `the event store could not be read: ${whyOf(error, `read ${stream ?? '$all'}`)}`,
    { cause: error },
  );
}

/**
 * The position of our last event. The last events of the log may be other applications', so it searches backwards until
 * one of ours, or until the start of the previous search.
 */
function createHead(
  ofAll: Pages['ofAll'],
  own: (event: ClientEvent) => RecordedEvent | undefined,
): () => Promise<number> {
  let known = { end: 0, head: 0 };
  /** Where the search ends in a page: at an event of ours, or at the start of the previous search. */
  const endIn = (page: readonly ClientEvent[], floor: number): ClientEvent | undefined =>
    page.find((event) => positionOf(event) <= floor || own(event) !== undefined);
  return async () => {
    const before = known;
    let from: ClientPosition | 'end' = 'end';
    let end: number | undefined;
    for (let count = firstHeadPage; ; count = Math.min(pageSize, count * 4)) {
      const page = await ofAll(from, 'backwards', count);
      end ??= page[0] === undefined ? 0 : positionOf(page[0]);
      // A log that ends before an earlier end was restored to an older state, so the knowledge about it is void.
      const floor = end < before.end ? { end: 0, head: 0 } : before;
      const found = endIn(page, floor.end);
      const last = page.at(-1)?.position;
      if (found === undefined && page.length === count && last !== undefined) {
        from = last;
        continue;
      }
      const head = found === undefined ? floor.head : Math.max(floor.head, ownPosition(found, floor.end));
      known = { end, head };
      return head;
    }
  };
}

function ownPosition(event: ClientEvent, floor: number): number {
  return positionOf(event) > floor ? positionOf(event) : 0;
}
