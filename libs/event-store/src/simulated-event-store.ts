import type { NewEvent, RecordedEvent } from '@countersign/contracts';
import type { Clock } from '@countersign/runtime';
import { sleep } from '@countersign/runtime';
import { checkAppend } from './append-checks.js';
import type { AppendResult, EventStore } from './event-store.js';
import { EventStoreUnavailableError, noStream } from './event-store.js';
import { createOwnStoreClock } from './store-clock.js';
import { createSubscriptions } from './subscriptions.js';
import type { Subscriptions } from './subscriptions.js';

/** A log in memory. It outlives the stores that are opened on it, as a server outlives its clients. */
export interface SimulatedLog {
  readonly events: RecordedEvent[];
  readonly streams: Map<string, RecordedEvent[]>;
  readonly readers: Set<Subscriptions>;
  /** The appends that are not yet written. */
  readonly onTheirWay: Set<string>;
}

/** The fate of an append: success; a refusal without a write; or a lost response, before or after the write. */
export type AppendFault = 'none' | 'unavailable' | 'lost-request' | 'lost-reply';

/** The dependencies of a simulated store. */
export interface SimulatedEventStoreOptions {
  readonly clock: Clock;
  /** Default: a new empty log. */
  readonly log?: SimulatedLog;
  /** Asked before each append. */
  readonly fault?: (stream: string) => AppendFault;
  /** Asked before each append and read; default 0. */
  readonly latencyMs?: () => number;
}

/** How long a server lets the caller of a dropped duplicate wait. */
const dropMs = 2_500;

/** A store that returns the objects that it was given: it decodes nothing, so all of them can be read. */
export interface SimulatedEventStore extends EventStore {
  readonly readStream: (stream: string, fromRevision?: number) => Promise<readonly RecordedEvent[]>;
  readonly readAll: (after: number, limit: number) => Promise<readonly RecordedEvent[]>;
}

/** A log for simulated stores. */
export function createSimulatedLog(): SimulatedLog {
  return { events: [], streams: new Map(), readers: new Set(), onTheirWay: new Set() };
}

/**
 * The in-memory event store for tests and simulations. Like a real server it drops a duplicate of an append in flight,
 * and later returns `unknown` for it. Nothing survives the process.
 */
export function createSimulatedEventStore(options: SimulatedEventStoreOptions): SimulatedEventStore {
  const { clock, log = createSimulatedLog(), fault = () => 'none', latencyMs = () => 0 } = options;
  const readAll = (after: number, limit: number): readonly RecordedEvent[] => log.events.slice(after, after + limit);
  const subscriptions = createSubscriptions({ head: () => log.events.length, readAll });
  log.readers.add(subscriptions);
  let isOpen = true;
  const visit = async (waitMs = latencyMs()): Promise<void> => {
    if (waitMs > 0) await sleep(clock, waitMs);
    if (!isOpen) throw new EventStoreUnavailableError('the event store is closed');
  };
  return {
    append: async (stream, expectedRevision, events) => {
      checkAppend(stream, expectedRevision, events);
      // A copy: what is recorded does not change with the caller's object.
      const given = structuredClone(events);
      const happening = fault(stream);
      const waitMs = latencyMs();
      const key = [stream, expectedRevision, ...events.map(({ eventId }) => eventId)].join(' ');
      if (log.onTheirWay.has(key)) {
        await sleep(clock, dropMs);
        return { status: 'unknown', cause: new Error('Operation timed out: Commit phase timeout.') };
      }
      if (waitMs > 0) log.onTheirWay.add(key);
      await visit(waitMs).finally(() => log.onTheirWay.delete(key));
      if (happening === 'unavailable') throw new EventStoreUnavailableError('the event store is down');
      const lost = { status: 'unknown', cause: new Error('the connection was lost') } as const;
      if (happening === 'lost-request') return lost;
      const result = write(log, stream, expectedRevision, given, new Date(clock.now()).toISOString());
      return happening === 'lost-reply' ? lost : result;
    },
    readStream: async (stream, fromRevision = 0) => {
      await visit();
      return log.streams.get(stream)?.slice(fromRevision) ?? [];
    },
    readAll: async (after, limit) => {
      await visit();
      return readAll(after, limit);
    },
    subscribe: subscriptions.subscribe,
    head: async () => {
      await visit();
      return log.events.length;
    },
    clock: createOwnStoreClock(clock),
    health: () => (isOpen ? { status: 'ok' } : { status: 'unavailable', why: 'the event store is closed' }),
    close: async () => {
      isOpen = false;
      log.readers.delete(subscriptions);
      subscriptions.close();
    },
  };
}

function write(
  log: SimulatedLog,
  stream: string,
  expectedRevision: number,
  events: readonly NewEvent[],
  recordedAt: string,
): AppendResult {
  const recorded = log.streams.get(stream) ?? [];
  const actualRevision = noStream + recorded.length;
  if (expectedRevision !== actualRevision) {
    const found = recorded.slice(expectedRevision + 1, expectedRevision + 1 + events.length);
    const isRepeat =
      found.length === events.length && found.every(({ eventId }, index) => eventId === events[index]?.eventId);
    return isRepeat ? committed(found) : { status: 'conflict', actualRevision };
  }
  const added = events.map((event, index) => ({
    ...event,
    stream,
    revision: actualRevision + 1 + index,
    position: log.events.length + 1 + index,
    recordedAt,
  }));
  log.events.push(...added);
  log.streams.set(stream, [...recorded, ...added]);
  for (const reader of log.readers) reader.publish(added);
  return committed(added);
}

function committed(events: readonly RecordedEvent[]): AppendResult {
  const last = events.at(-1);
  return { status: 'committed', revision: last?.revision ?? noStream, position: last?.position ?? 0, events };
}
