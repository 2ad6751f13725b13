import type { EventData } from '@countersign/contracts';
import type { CallState } from './call-state.js';
import { illegal } from './judged-event.js';
import type { JudgedEvent, Judgement } from './judged-event.js';
import type { KnownStreams, StreamState } from './streams.js';

/** The places of calls in their runs, which receipts take from claims. */
export interface Places {
  /** The state after an event, with the place of a call that is new. */
  readonly placed: (event: JudgedEvent, state: StreamState) => StreamState;
  readonly judge: (event: JudgedEvent, state: StreamState | undefined) => Judgement;
  /** An event cannot be read, or was not shown: it may be a request of any run. */
  readonly lose: (event: { readonly type: string }) => void;
}

const nothing: Judgement = { illegal: [], unproven: [] };

/** How many calls a run has is kept with the streams, which may be in a file. No event has a stream of that name. */
export const countsPrefix = '\u0000run ';

/**
 * No call was requested yet. Attack: nine of ten receipts pass as ten, because a claim says another number than that of the call.
 * @param isWhole the log is judged from its first event.
 */
export function createPlaces(streams: KnownStreams, isWhole: boolean): Places {
  let isKnown = isWhole;
  const countOf = (runId: string): number => streams.get(countsPrefix + runId)?.next ?? 0;
  return {
    placed: ({ type }, state) => {
      if (type !== 'ToolCallRequested' || state.kind !== 'call') return state;
      const { runId } = state.request;
      const place = countOf(runId) + 1;
      streams.set(countsPrefix + runId, { next: place, state: undefined });
      return { ...state, place };
    },
    judge: (event, state) => {
      if (event.type !== 'ExecutionClaimed' || state?.kind !== 'call') return nothing;
      const { seq } = event.data as EventData<'ExecutionClaimed'>;
      if (seq === undefined) return nothing;
      return isKnown ? judgeSeq(seq, state, countOf(state.request.runId)) : { illegal: [], unproven: ['place-in-run'] };
    },
    lose: ({ type }) => {
      if (type === 'ToolCallRequested') isKnown = false;
    },
  };
}

/** Requests that are recorded while a call is claimed may not be in its number: a lower one is no lie for sure. */
function judgeSeq({ n, of }: Place, { place = 0 }: CallState, calls: number): Judgement {
  if (n !== place || of < n || of > calls) {
    const said = `it says that the call is number ${String(n)} of ${String(of)} of its run`;
    return {
      illegal: [illegal('claim', `${said}, and it is number ${String(place)} of ${String(calls)}`)],
      unproven: [],
    };
  }
  return of === calls ? nothing : { illegal: [], unproven: ['place-in-run'] };
}

type Place = NonNullable<EventData<'ExecutionClaimed'>['seq']>;
