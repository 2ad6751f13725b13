import { currentSchemaVersion } from '@countersign/contracts';
import type { EventType, RecordedEvent } from '@countersign/contracts';
import type { LogReader } from '../embedded/log-reader.js';

/** A test's values of an event; the rest are defaults. */
export interface MemoryLogEvent {
  readonly id: string;
  readonly type: EventType;
  readonly runId: string | null;
  readonly callId?: string | null;
  readonly tenant?: string;
  readonly data?: unknown;
}

type Handler = Parameters<LogReader['subscribe']>[1];

/** A log in memory that a test appends to, as an event store would show it. */
export interface MemoryLog extends LogReader {
  readonly append: (...events: readonly MemoryLogEvent[]) => void;
  /** Ends every subscription with an error and refuses new ones until `heal`. */
  readonly fail: (error: Error) => void;
  readonly heal: () => void;
  /** Forgets what was recorded after a position, as a log put back from a backup has. */
  readonly truncate: (position: number) => void;
  readonly subscriptions: () => number;
}

/** How many events one `onEvents` gets: few, so that tests see several calls. */
const batchMax = 7;

export function createMemoryLog(): MemoryLog {
  const events: RecordedEvent[] = [];
  const readers = new Set<{ readonly wake: () => void; readonly fail: (error: Error) => void }>();
  let failure: Error | undefined;
  const subscribe = (after: number, handler: Handler): { stop: () => Promise<void> } => {
    let [position, ended] = [after, false];
    let pumping: Promise<void> | undefined;
    const pump = async (): Promise<void> => {
      for (;;) {
        const batch = events.filter((event) => event.position > position).slice(0, batchMax);
        if (ended || batch.length === 0) return;
        position = batch.at(-1)?.position ?? position;
        await handler.onEvents(batch);
      }
    };
    const wake = (): void => {
      pumping ??= pump().then(() => {
        pumping = undefined;
        if (!ended && (events.at(-1)?.position ?? 0) > position) wake();
      });
    };
    const end = (): void => {
      ended = true;
      readers.delete(reader);
    };
    const reader = {
      wake,
      fail: (error: Error): void => {
        end();
        handler.onError(error);
      },
    };
    readers.add(reader);
    if (failure === undefined) queueMicrotask(wake);
    else reader.fail(failure);
    return {
      stop: async () => {
        end();
        await pumping;
      },
    };
  };
  return {
    append: (...added) => {
      for (const event of added) events.push(record(event, (events.at(-1)?.position ?? 0) + 1));
      for (const reader of readers) reader.wake();
    },
    readAll: async (after, limit) => {
      if (failure !== undefined) throw failure;
      return events.filter((event) => event.position > after).slice(0, limit);
    },
    subscribe,
    fail: (error) => {
      failure = error;
      for (const reader of readers) reader.fail(error);
    },
    heal: () => {
      failure = undefined;
    },
    truncate: (position) => {
      events.splice(events.findIndex((event) => event.position > position));
    },
    subscriptions: () => readers.size,
  };
}

function record(
  { id, type, runId, callId = null, tenant = 'default', data = {} }: MemoryLogEvent,
  position: number,
): RecordedEvent {
  return {
    eventId: id,
    type,
    data: data as RecordedEvent['data'],
    metadata: { tenant, callId, runId, schemaVersion: currentSchemaVersion, commandId: `command-${id}` },
    stream: `toolCall-${callId ?? 'none'}`,
    revision: 0,
    position,
    recordedAt: '2030-01-01T00:00:00.000Z',
  };
}
