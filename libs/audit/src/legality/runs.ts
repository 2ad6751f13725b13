import type { EventData } from '@countersign/contracts';
import type { CallState } from './call-state.js';
import type { JudgedEvent, Judgement } from './judged-event.js';
import { isInsideCancelled } from './nesting.js';
import { countsPrefix } from './places.js';
import type { KnownStreams, StreamState } from './streams.js';

/** Runs that were cancelled, or that a denial ended. */
export interface Runs {
  /** Judges an event by which a call goes on. `before`: the state of its stream before it. */
  readonly judge: (event: JudgedEvent, before: StreamState | undefined) => Judgement;
  /** Takes a legal event that ends a run. */
  readonly take: (event: JudgedEvent, before: StreamState | undefined) => void;
}

/** Marks of calls that the cancellation of a run named, and of runs that a denial ended. No event has a stream of these names. */
const namedPrefix = '\u0000cancelled ';
const endedPrefix = '\u0000ended ';
const cancelledPrefix = '\u0000cancelled run ';

/** No principal has this name. */
const everyone = '\u0000';

type Cancelled = Pick<EventData<'ToolCallRequested'>, 'runId'> & {
  readonly callIds: readonly string[];
  readonly cancelledBy: string;
  readonly roles?: readonly string[];
};

/** Null: those of grants that name no principal. */
function cancelledOf(runId: string, principal: string | null): string {
  return cancelledPrefix + JSON.stringify([runId, principal]);
}

/**
 * No run has ended yet. Attack: a run is cancelled, or a denial ends it, and its calls run all the same. A person or a worker may have
 * been first, and a process that stops cancels nothing: so what goes on is listed, and is no finding.
 */
export function createRuns(streams: KnownStreams): Runs {
  const endedBy = ({ requestedBy, runId }: CallState['request']): string =>
    endedPrefix + JSON.stringify([requestedBy, runId]);
  const isNamed = (callId: string): boolean => streams.get(namedPrefix + callId) !== undefined;
  const isOver = ({ request, place = 0 }: CallState): boolean =>
    isNamed(request.callId) ||
    isInsideCancelled(request, streams) ||
    place <= (streams.get(endedBy(request))?.next ?? -1);
  const callOf = (callId: string): CallState | undefined => {
    const state = streams.get(`toolCall-${callId}`)?.state;
    return state?.kind === 'call' ? state : undefined;
  };
  /** A batch that has begun runs as a whole, and its begin is judged. */
  const hasBegun = ({ request: { batchStream } }: CallState): boolean =>
    batchStream !== null && streams.get(batchStream)?.state?.kind === 'batch';
  const goingOn = (event: JudgedEvent, before: StreamState | undefined): readonly CallState[] => {
    if (event.type === 'BatchBegun') {
      return (event.data as { readonly callIds: readonly string[] }).callIds
        .map(callOf)
        .filter((call) => call !== undefined);
    }
    return before?.kind === 'call' && goesOn(event, before) && !hasBegun(before) ? [before] : [];
  };
  /** The cancellation of a run revokes its grants, also where a process was too slow. One that is given after it covers. */
  const isUseAfter = ({ type }: JudgedEvent, before: StreamState | undefined): boolean => {
    if (type !== 'GrantUsed' || before?.kind !== 'grant' || before.scope.runId === null) return false;
    const { runId, requestedBy } = before.scope;
    const ends = [everyone, requestedBy].map((principal) => streams.get(cancelledOf(runId, principal))?.next ?? 0);
    return Date.parse(before.givenAt) < Math.max(...ends);
  };
  const cancel = ({ data, recordedAt }: JudgedEvent): void => {
    const { callIds, runId, cancelledBy, roles = [] } = data as Cancelled;
    const next = Date.parse(recordedAt);
    // Who is no admin ends no grant that is for another principal.
    for (const principal of roles.includes('admin') ? [null, everyone] : [null, cancelledBy]) {
      streams.set(cancelledOf(runId, principal), { next, state: undefined });
    }
    for (const callId of callIds) streams.set(namedPrefix + callId, { next: 0, state: undefined });
  };
  return {
    judge: (event, before) => ({
      illegal: [],
      unproven: goingOn(event, before).some(isOver) || isUseAfter(event, before) ? ['run-over'] : [],
    }),
    take: (event, before) => {
      if (event.type === 'RunCancelled') cancel(event);
      const { endsRun } = event.data as Partial<EventData<'ApprovalResponded'>>;
      if (event.type !== 'ApprovalResponded' || endsRun !== true || before?.kind !== 'call') return;
      const { request } = before;
      streams.set(endedBy(request), { next: streams.get(countsPrefix + request.runId)?.next ?? 0, state: undefined });
    },
  };
}

/** It is approved, or begins to run. What was claimed before cannot be cancelled. */
function goesOn({ type, data }: JudgedEvent, { execution }: CallState): boolean {
  if (type === 'ApprovalResponded') return (data as EventData<'ApprovalResponded'>).resolution === 'approved';
  const begins = type === 'ExecutionClaimed' || type === 'ExecutionSucceeded' || type === 'ExecutionFailed';
  return begins && execution.status === 'none';
}
