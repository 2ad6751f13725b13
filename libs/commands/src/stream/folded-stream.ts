import type { CalledTool, LedgerEvent, LogEvent, RecordedEvent, UnreadableEvent } from '@countersign/contracts';
import { calledToolOf, readablePart, upcast, weigh } from '@countersign/contracts';
import type { Fold } from '@countersign/domain';
import { noStream } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { createLruMap } from '@countersign/runtime';
import { lateMsOf } from '../late-ms.js';

/** A stream and its folded state. Immutable. */
export interface FoldedStream<State> {
  readonly state: State;
  /** -1: the stream does not exist. */
  readonly revision: number;
  /** The position of the last event seen; 0 when there is none. */
  readonly position: number;
  readonly runId: string | null;
  /** The tool that its events are about; undefined for a stream of no call. */
  readonly tool: CalledTool | undefined;
  /** The trace context of its first event. */
  readonly traceparent: string | undefined;
  /** The ids of the commands that made its events, the oldest first. */
  readonly commandIds: readonly string[];
  /** How many ms after their own times its events were recorded, at most. */
  readonly lateMs: number;
  /** About how many bytes of JSON its events have. */
  readonly weight: number;
  /** The first event that cannot be read. The state is that before it, and nothing may be decided on it. */
  readonly unreadable?: UnreadableEvent | undefined;
  /** How often the streams had been forgotten when its first event was read. */
  readonly generation: number;
}

/** A stream, and whether it was read just now. */
export interface Look<State> {
  readonly folded: FoldedStream<State>;
  readonly isFresh: boolean;
}

/** Folds streams and caches the recently used ones. */
export interface FoldedStreams<State> {
  /** Returns the cached stream, which may be older than the store's; reads it when it is not cached. */
  readonly get: (stream: string) => Look<State> | Promise<Look<State>>;
  /** An empty stream. */
  readonly unread: () => Look<State>;
  /** The current stream in the store, read from the cached revision. */
  readonly refresh: (stream: string, known?: FoldedStream<State>) => Promise<FoldedStream<State>>;
  /** Folds events that follow, and keeps the result. */
  readonly extend: (stream: string, known: FoldedStream<State>, events: readonly LogEvent[]) => FoldedStream<State>;
  /**
   * Folds an event that a subscription of this process delivered. A stream is kept from its first event on; one that is not kept, or
   * that lacks an event before this one, is read when it is needed.
   */
  readonly learn: (event: LogEvent) => void;
  readonly drop: (stream: string) => void;
  /** Drops every cached stream. Streams that were read before are not cached again. */
  readonly forget: () => void;
}

/** Attack: thousands of calls with large arguments. Beyond about this number of bytes of events, the least recently used streams are evicted. */
const weightMax = 32 * 1024 * 1024;

/** Folds streams, keeping about `size` of them. */
export function createFoldedStreams<State, Event extends LedgerEvent>(
  store: Pick<EventStore, 'readStream'>,
  { initialState, evolve, isTerminal }: Fold<State, Event>,
  size: number,
): FoldedStreams<State> {
  const kept = createLruMap<FoldedStream<State>>(size, { of: ({ weight }) => weight, max: weightMax });

  let generation = 0;

  const keep = (stream: string, folded: FoldedStream<State>): FoldedStream<State> => {
    // Its values may be erased by now.
    if (folded.generation < generation) return folded;
    const current = kept.get(stream);
    // A look that took long does not replace what was learned meanwhile.
    if (current !== undefined && current.revision > folded.revision) return folded;
    if (isTerminal(folded.state)) kept.delete(stream);
    else kept.set(stream, folded);
    return folded;
  };
  const fold = (known: FoldedStream<State>, event: RecordedEvent): FoldedStream<State> => {
    const { type, data } = upcast(event);
    const { commandId, runId, traceparent } = event.metadata;
    return {
      // Stored events were validated when they were written, and lifted to today's version here.
      state: evolve(known.state, { type, data } as Event),
      revision: event.revision,
      position: event.position,
      runId: known.revision === noStream ? runId : known.runId,
      tool: known.tool ?? calledToolOf(event),
      traceparent: known.revision === noStream ? traceparent : known.traceparent,
      commandIds: known.commandIds.at(-1) === commandId ? known.commandIds : [...known.commandIds, commandId],
      lateMs: Math.max(known.lateMs, lateMsOf(event)),
      weight: known.weight + weigh(event),
      generation: known.generation,
    };
  };
  const extend = (stream: string, known: FoldedStream<State>, events: readonly LogEvent[]): FoldedStream<State> => {
    const { events: read, unreadable } = readablePart(events);
    const folded = read.reduce(fold, known);
    if (unreadable === undefined) return keep(stream, folded);
    // Not kept: the store may be mended while this process runs.
    kept.delete(stream);
    return { ...folded, unreadable };
  };
  const nothing = (): FoldedStream<State> => ({
    state: initialState(),
    revision: noStream,
    position: 0,
    runId: null,
    tool: undefined,
    traceparent: undefined,
    commandIds: [],
    lateMs: 0,
    weight: 0,
    generation,
  });
  const refresh = async (stream: string, known = nothing()): Promise<FoldedStream<State>> =>
    extend(stream, known, await store.readStream(stream, known.revision + 1));
  const read = async (stream: string): Promise<Look<State>> => ({ folded: await refresh(stream), isFresh: true });
  return {
    get: (stream) => {
      const folded = kept.get(stream);
      return folded === undefined ? read(stream) : { folded, isFresh: false };
    },
    unread: () => ({ folded: nothing(), isFresh: false }),
    refresh,
    extend,
    learn: (event) => {
      const known = kept.get(event.stream) ?? (event.revision === 0 ? nothing() : undefined);
      if (known?.revision === event.revision - 1) extend(event.stream, known, [event]);
    },
    drop: kept.delete,
    forget: () => {
      generation += 1;
      kept.clear();
    },
  };
}
