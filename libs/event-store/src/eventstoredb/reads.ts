import { QuestionRefusedError } from '@countersign/contracts';
import type { LogEvent, UnreadableEvent } from '@countersign/contracts';
import { EventStoreUnavailableError } from '../event-store.js';
import { bytesOf } from './bounded-page.js';
import type { ClientEvent, ClientPage, ClientPosition, EventStoreClient, PageLimits } from './client.js';
import type { Connection } from './connection.js';
import { whyOf } from './denied.js';
import { deletedStream, foreignEvent, fromClientEvent, missingEvent, positionOf } from './encoding.js';
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
  readonly readStream: (stream: string, fromRevision: number, limit?: number) => Promise<readonly LogEvent[]>;
  readonly lossOf: (stream: string) => Promise<UnreadableEvent | undefined>;
  readonly readAll: (after: number, limit: number) => Promise<readonly LogEvent[]>;
  readonly head: () => Promise<number>;
  /** The id of the event at a position of `$all`; undefined: none begins there. */
  readonly idAt: (position: number) => Promise<string | undefined>;
}

/** The page size in events; the deadline applies to each page. */
const pageSize = 500;
const firstPage = 64;
/**
 * Attack: thousands of events with large arguments are read at once. A read of the log, and each page of it, ends early beyond this
 * many bytes, as one of the embedded log does.
 */
const bytesMax = 2 * 1024 * 1024;
const firstHeadPage = 16;

/** Reads that end: each page by its deadline, tried again when the server was only restarting or not the leader. */
export function createReads(ports: ReadPorts): Reads {
  const page = createPages(ports);
  const own = (event: ClientEvent): LogEvent | undefined => fromClientEvent(event, ports.prefixes);
  /** Fewer where the events of the read before were large: one client gets the whole answer, also of a page that ends early. */
  let firstCount = firstPage;
  const lossOf = async (stream: string): Promise<UnreadableEvent | undefined> =>
    isDeletedSoftly(await page.ofMetadata(stream)) ? deletedStream(stream) : undefined;
  return {
    lossOf,
    readStream: async (stream, fromRevision, limit = Infinity) => {
      const events: LogEvent[] = [];
      let next = fromRevision;
      while (events.length < limit) {
        const count = Math.min(pageSize, limit - events.length);
        const found = await page.ofStream(stream, next, count);
        if (found === 'deleted') return [...events, deletedStream(stream)];
        if (found === 'missing') return next === 0 ? [] : [...events, ...listOf(await lossOf(stream))];
        for (const event of found) {
          if (Number(event.revision) > next) events.push(missingEvent(stream, next, event));
          events.push(own(event) ?? foreignEvent(event));
          next = Number(event.revision) + 1;
        }
        if (found.length < count) break;
      }
      return events;
    },
    readAll: async (after, limit) => {
      const wanted = new Wanted(own, after, limit, firstCount);
      while (wanted.isOpen) {
        const found = await page.ofAll(wanted.from, 'forwards', wanted);
        firstCount = found.isCut ? Math.min(firstPage, 2 * found.events.length) : firstPage;
        if (wanted.take(found)) break;
      }
      return wanted.events;
    },
    head: createHead(page.ofAll, own),
    idAt: async (position) => {
      const { events } = await page.ofAll(startAt(position), 'forwards', { count: 1, bytesMax }).catch(nothingThere);
      return events.find((event) => positionOf(event) === position)?.id;
    },
  };
}

function nothingThere(error: unknown): ClientPage {
  if (error instanceof QuestionRefusedError) return { events: [], isCut: false };
  throw error;
}

/** What a read of the log still wants, page by page. The server cannot filter a read. */
class Wanted implements PageLimits {
  readonly bytesMax = bytesMax;
  readonly events: LogEvent[] = [];
  readonly #own: (event: ClientEvent) => LogEvent | undefined;
  readonly #limit: number;
  #passed: number;
  #bytes = 0;
  /** It begins at its position: what is there has been read before. */
  from: ClientPosition | 'start';
  /** One more than wanted, because the first one was read before. */
  count: number;

  constructor(own: (event: ClientEvent) => LogEvent | undefined, after: number, limit: number, firstCount: number) {
    this.#own = own;
    this.#limit = limit;
    this.#passed = after;
    this.from = startAt(after);
    this.count = Math.min(firstCount, limit + 1);
  }

  get isOpen(): boolean {
    return this.events.length < this.#limit && this.#bytes < bytesMax;
  }

  /** Takes a page. Returns whether it was the last of the log. */
  take(page: ClientPage): boolean {
    const { events } = page;
    const before = this.events.length;
    for (const event of events) {
      if (positionOf(event) <= this.#passed) continue;
      this.#passed = positionOf(event);
      const recorded = this.events.length < this.#limit ? this.#own(event) : undefined;
      if (recorded === undefined) continue;
      this.events.push(recorded);
      this.#bytes += bytesOf(event);
    }
    this.from = events.at(-1)?.position ?? this.from;
    const isLast = !hasMore(page, this.count);
    this.count = this.#nextCount(this.events.length - before);
    return isLast;
  }

  /** What is left, in larger pages where most events are of others, and in smaller ones where ours are large. */
  #nextCount(taken: number): number {
    const left = this.#limit - this.events.length + 1;
    const fitting = Math.floor((this.events.length * bytesMax) / Math.max(1, this.#bytes));
    const sparse = taken * 2 < this.count ? this.count * 4 : 0;
    return Math.min(pageSize, Math.max(left, sparse), Math.max(firstPage, fitting));
  }
}

/** Returns whether the log may go on after a page. */
function hasMore({ events, isCut }: ClientPage, count: number): boolean {
  return isCut || events.length === count;
}

/** A start position: before its first event the server knows only the start. */
export function startAt(after: number): ClientPosition | 'start' {
  return after === 0 ? 'start' : { commit: BigInt(after), prepare: BigInt(after) };
}

interface Pages {
  readonly ofStream: (
    stream: string,
    from: number,
    count: number,
  ) => Promise<readonly ClientEvent[] | 'deleted' | 'missing'>;
  /** What admins wrote about a stream. */
  readonly ofMetadata: (stream: string) => Promise<readonly ClientEvent[]>;
  readonly ofAll: (
    from: ClientPosition | 'start' | 'end',
    direction: 'forwards' | 'backwards',
    limits: PageLimits,
  ) => Promise<ClientPage>;
}

function createPages(ports: ReadPorts): Pages {
  const { connection, readMs } = ports;
  const page = <T>(work: (client: EventStoreClient, signal: AbortSignal) => Promise<T>): Promise<T> =>
    connection.call(readMs, work);
  /** A timeout is not tried again: the caller has waited long enough. */
  const read = async <T>(work: () => Promise<T>, what: string, stream?: string): Promise<T> => {
    try {
      return await withRetries(ports, (verdict) => isTransient(verdict), work);
    } catch (error) {
      if (meaningOf(error).kind === 'refused-question') throw refusedQuestion(what, error);
      throw readError(error, stream);
    }
  };
  return {
    ofStream: (stream, from, count) =>
      read(
        async () => {
          try {
            return await page((client, signal) => client.readStream(stream, BigInt(from), count, signal));
          } catch (error) {
            const { kind } = meaningOf(error);
            if (kind === 'stream-not-found') return 'missing';
            if (kind === 'stream-deleted') return 'deleted';
            throw error;
          }
        },
        `read ${stream} from revision ${String(from)}`,
        stream,
      ),
    ofMetadata: (stream) =>
      read(
        async () => {
          try {
            return await page((client, signal) => client.readStream(metadataOf(stream), 0n, pageSize, signal));
          } catch (error) {
            const meaning = meaningOf(error);
            // A user without the right to read them learns nothing.
            const isDenied = meaning.kind === 'not-written' && !meaning.transient;
            if (isDenied || meaning.kind === 'stream-not-found') return [];
            throw error;
          }
        },
        `read ${metadataOf(stream)}`,
        stream,
      ),
    ofAll: (from, direction, limits) =>
      read(
        () => page((client, signal) => client.readAll(from, direction, limits, signal)),
        `read $all from ${textOf(from)}`,
      ),
  };
}

function metadataOf(stream: string): string {
  return `$$${stream}`;
}

/** A soft delete hides every revision up to the largest 64-bit number. */
function isDeletedSoftly(metadata: readonly ClientEvent[]): boolean {
  const { $tb: hiddenBefore } = (metadata.at(-1)?.data ?? {}) as { readonly $tb?: unknown };
  return typeof hiddenBefore === 'number' && hiddenBefore > Number.MAX_SAFE_INTEGER;
}

function listOf<T>(one: T | undefined): readonly T[] {
  return one === undefined ? [] : [one];
}

function textOf(from: ClientPosition | 'start' | 'end'): string {
  return typeof from === 'string' ? `its ${from}` : `position ${String(from.commit)}`;
}

/** The error of a question that the server does not answer, although it is well. */
export function refusedQuestion(what: string, cause: unknown): QuestionRefusedError {
  const why = 'no event of the log is there: it is a position of another log, or of one that was restored';
  return new QuestionRefusedError(`the event store does not ${what}: ${why}`, { cause });
}

function isTransient(verdict: ReturnType<typeof meaningOf>): boolean {
  return (verdict.kind === 'not-written' && verdict.transient) || (verdict.kind === 'unknown' && !verdict.timedOut);
}

function readError(error: unknown, stream: string | undefined): unknown {
  if (error instanceof EventStoreUnavailableError) return error;
  return new EventStoreUnavailableError(
    `the event store could not be read: ${whyOf(error, `read ${stream ?? '$all'}`)}`,
    { cause: error },
  );
}

/**
 * The position of our last event. The last events of the log may be other applications', so it searches backwards until
 * one of ours, or until the start of the previous search.
 */
function createHead(ofAll: Pages['ofAll'], own: (event: ClientEvent) => LogEvent | undefined): () => Promise<number> {
  let known = { end: 0, head: 0 };
  /** Where the search ends in a page: at an event of ours, or at the start of the previous search. */
  const endIn = (page: readonly ClientEvent[], floor: number): ClientEvent | undefined =>
    page.find((event) => positionOf(event) <= floor || own(event) !== undefined);
  return async () => {
    const before = known;
    let from: ClientPosition | 'end' = 'end';
    let end: number | undefined;
    for (let count = firstHeadPage; ; count = Math.min(pageSize, count * 4)) {
      const read = await ofAll(from, 'backwards', { count, bytesMax });
      const page = read.events;
      end ??= page[0] === undefined ? 0 : positionOf(page[0]);
      // A log that ends before an earlier end was restored to an older state, so the knowledge about it is void.
      const floor = end < before.end ? { end: 0, head: 0 } : before;
      const found = endIn(page, floor.end);
      const last = page.at(-1)?.position;
      if (found === undefined && hasMore(read, count) && last !== undefined) {
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
