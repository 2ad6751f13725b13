import type { History, KeyedQueue } from '@countersign/commands';
import { createKeyedQueue } from '@countersign/commands';
import type { EventData, NewEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import type { ReadModel } from '@countersign/read-model';
import { createHistory } from '@countersign/shell';
import { historyWithout } from '../weak-ports.ts';
import type { Machine } from './machine.ts';
import type { World } from './world.ts';

/** A process is about to record a question to people. */
export interface Question {
  readonly machine: string;
  /** The process has read altered arguments, so it may not have known which calls are identical. */
  readonly isDeceived: boolean;
  readonly callId: string;
  /** The events that it records in the call's stream, with the question. */
  readonly events: readonly NewEvent[];
  /** Undefined: the process counted nothing before. */
  readonly counted: Counted | undefined;
}

/** The history that the process saw when it counted for the quotas. */
export interface Counted {
  /** Its read model had reached this position of the log. */
  readonly position: number;
  /** By the clock of its store, epoch milliseconds. */
  readonly at: number;
  /** The calls of the same request about which it asks: those up to now. */
  readonly callIds: ReadonlySet<string>;
}

/** Returns whether people are asked, or will be asked at the turn of the call. */
export function isQuestion({ type, data }: NewEvent): boolean {
  if (type === 'ToolCallQueued') return (data as EventData<'ToolCallQueued'>).question !== null;
  return type === 'ApprovalRequested';
}

/** A process's view of what was recorded before, and its store, both watched. */
export interface Watched {
  readonly store: EventStore;
  readonly asking: { readonly history: History; readonly inTurn: KeyedQueue };
}

/** Tells a listener of each question of a process before the process records it. */
export function watchQuestions(
  world: World,
  { name: machine, isDeceived }: Machine,
  { store, readModelOf }: { readonly store: EventStore; readonly readModelOf: () => ReadModel },
  onQuestion: (question: Question) => void,
): Watched {
  let counted: (Counted & { readonly callIds: Set<string> }) | undefined;
  const history = (): History => {
    const readModel = readModelOf();
    counted = { position: readModel.checkpoint(), at: store.clock.now(), callIds: new Set() };
    return historyWithout(world.without, createHistory(readModel));
  };
  const queue = createKeyedQueue();
  return {
    asking: {
      history: {
        pendingOf: (...of) => history().pendingOf(...of),
        denialsInARow: (...of) => history().denialsInARow(...of),
        pendingCalls: (...of) => history().pendingCalls(...of),
        factsOfRun: (...of) => history().factsOfRun(...of),
        callsOfBatch: (...of) => createHistory(readModelOf()).callsOfBatch(...of),
      },
      // All calls are of one agent, so one request at a time counts.
      inTurn: (key, work) =>
        queue(key, () => {
          // The turn of a batch is taken before it, by requests that have not counted yet.
          if (!key.startsWith('["batch"')) counted = undefined;
          return work();
        }),
    },
    store: {
      ...store,
      append: (stream, revision, events) => {
        const callId = events.find(isQuestion)?.metadata.callId ?? null;
        // An append at a revision that has passed is refused, and nobody is asked.
        const isLate = (world.log.streams.get(stream)?.length ?? 0) > revision + 1;
        if (callId !== null && !isLate) {
          counted?.callIds.add(callId);
          onQuestion({ machine, isDeceived: isDeceived(), callId, events, counted });
        }
        return store.append(stream, revision, events);
      },
    },
  };
}
