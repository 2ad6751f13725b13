import { currentSchemaVersion, refusalsStream } from '@countersign/contracts';
import type { NewEvent, RefusalEvent } from '@countersign/contracts';
import { appendUntilKnown, EventStoreUnavailableError, noStream } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { uuidV5 } from '@countersign/runtime';
import type { Clock, Ids } from '@countersign/runtime';

/** A request that was understood and not carried out. */
export interface RefusedRequest {
  readonly tenant: string;
  /** Null where it could not be read. */
  readonly runId: string | null;
  /** A repeat of the request carries the same id, and adds nothing. */
  readonly commandId: string;
  readonly data: RefusalEvent['data'];
}

/** Records refusals in the stream of their tenant. */
export interface Refusals {
  /** Resolves once it is recorded. @throws EventStoreUnavailableError, OutcomeUnknownError: repeating is safe. */
  readonly record: (refused: RefusedRequest) => Promise<void>;
}

interface Waiting {
  readonly event: NewEvent<RefusalEvent>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The end of one tenant's stream, and its latest ids. */
interface Tail {
  revision: number;
  readonly eventIds: Set<string>;
  readonly waiting: Waiting[];
  writing: boolean;
}

const eventIds = '5f0c1d64-0a4e-5b51-9d5c-7f2d6f1b8c33';
/** Duplicates come soon after the first, so only this many of the latest ids are kept. */
const knownMax = 2_000;
const togetherMax = 100;
/** EventStoreDB accepts 1 MiB per append. */
const togetherBytesMax = 512 * 1024;
const conflictsMax = 12;

/** Refusals over an event store. Those that wait are appended together; the stream is never read from its beginning. */
export function createRefusals(ports: {
  readonly store: Pick<EventStore, 'append' | 'readStream'>;
  readonly clock: Clock;
  readonly ids: Ids;
}): Refusals {
  const tails = new Map<string, Tail>();
  const drain = async (stream: string, tail: Tail): Promise<void> => {
    tail.writing = true;
    while (tail.waiting.length > 0) {
      const taken = tail.waiting.splice(0, countTogether(tail.waiting));
      try {
        await append(
          ports,
          stream,
          tail,
          taken.map(({ event }) => event),
        );
        for (const { resolve } of taken) resolve();
      } catch (error) {
        for (const { reject } of taken) reject(error);
      }
    }
    tail.writing = false;
  };
  return {
    record: (refused) => {
      const stream = refusalsStream(refused.tenant);
      const tail = tails.get(stream) ?? { revision: noStream, eventIds: new Set(), waiting: [], writing: false };
      tails.set(stream, tail);
      return new Promise((resolve, reject) => {
        tail.waiting.push({ event: toEvent(stream, refused), resolve, reject });
        if (!tail.writing) void drain(stream, tail);
      });
    },
  };
}

async function append(
  ports: Parameters<typeof createRefusals>[0],
  stream: string,
  tail: Tail,
  given: readonly NewEvent<RefusalEvent>[],
): Promise<void> {
  const { store } = ports;
  for (let conflicts = 0; conflicts <= conflictsMax; conflicts += 1) {
    // A duplicate that arrived while its first copy was written is in the same batch.
    const events = [...new Map(given.map((event) => [event.eventId, event])).values()].filter(
      ({ eventId }) => !tail.eventIds.has(eventId),
    );
    if (events.length === 0) return;
    const result = await appendUntilKnown(ports, stream, tail.revision, events);
    if (result.status === 'committed') {
      tail.revision = result.revision;
      for (const { eventId } of events) remember(tail, eventId);
      return;
    }
    // Another process has written: its last refusals may include the one that is handled here.
    const from = Math.max(tail.revision + 1, result.actualRevision + 1 - knownMax);
    const recorded = await store.readStream(stream, Math.max(0, from));
    for (const { eventId } of recorded) remember(tail, eventId);
    tail.revision = recorded.at(-1)?.revision ?? result.actualRevision;
  }
  throw new EventStoreUnavailableError(`${stream} is written too often at once: nothing was recorded, try again`);
}

/** How many of the waiting refusals fit into one append; at least one. */
function countTogether(waiting: readonly Waiting[]): number {
  let [count, bytes] = [0, 0];
  for (const { event } of waiting.slice(0, togetherMax)) {
    bytes += Buffer.byteLength(JSON.stringify(event));
    if (count > 0 && bytes > togetherBytesMax) break;
    count += 1;
  }
  return count;
}

function remember({ eventIds: known }: Tail, eventId: string): void {
  known.add(eventId);
  for (const oldest of known) {
    if (known.size <= knownMax) return;
    known.delete(oldest);
  }
}

function toEvent(stream: string, { tenant, runId, commandId, data }: RefusedRequest): NewEvent<RefusalEvent> {
  return {
    eventId: uuidV5(eventIds, `${commandId}:${stream}`),
    type: 'RequestRefused',
    data,
    metadata: { tenant, callId: null, runId, schemaVersion: currentSchemaVersion, commandId },
  };
}
