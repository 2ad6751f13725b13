import { eventTypes, toolCallEventTypes, type JsonObject, type ToolCallView } from '@countersign/contracts';
import type { Clock } from '@countersign/contracts/clock';
import type { HeardEvent } from './heard-event.js';

/**
 * The calls of the runs that a worker follows: as the ledger last showed them, and what the events topic told since.
 *
 * Attack: a message may be forged, so it never changes a call. It makes the call doubted, and one read of the ledger ends
 * the doubt. Calls without news need no read.
 */
export interface KnownCalls {
  /** From now on the events of the run are heard. */
  readonly follow: (runId: string) => void;
  readonly follows: (runId: string) => boolean;
  /** An event of one call. */
  readonly hear: (event: HeardEvent) => void;
  /** A message that is none makes all calls of its run doubted. */
  readonly doubtRun: (runId: string) => void;
  /** Something may have been missed: all calls are doubted. */
  readonly gap: () => void;
  /** The moment before a read: what is heard after it makes the read call doubted. */
  readonly now: () => number;
  /** Takes the calls that the ledger has shown, of runs that were followed before it was asked. */
  readonly learn: (views: readonly ToolCallView[], readFrom: number) => void;
  /** Returns a call that need not be read: nothing is in doubt, or this worker runs it. */
  readonly get: (callId: string) => ToolCallView | undefined;
  /** This worker claims the call: its own events, which may come before the responses, need no read. */
  readonly claiming: (callId: string) => void;
  readonly claimed: (callId: string, args: JsonObject) => void;
  /** Returns the arguments of a call that this worker runs. */
  readonly claimedArguments: (callId: string) => JsonObject | undefined;
  /** This worker no longer runs the call. */
  readonly released: (callId: string) => void;
  /** A claim was refused: the next look reads the call. */
  readonly doubt: (callId: string) => void;
}

interface Known {
  readonly view: ToolCallView;
  /** When the ledger was asked. */
  readonly readAtMs: number;
  /** The newest event after the revision of the view. */
  readonly last: Pick<HeardEvent, 'eventId' | 'revision'> | undefined;
  readonly isDoubted: boolean;
}

interface Run {
  readonly calls: Map<string, Known>;
  /** The events about a call that no read covers yet. */
  readonly heard: Map<string, { readonly at: number; readonly revision: number }>;
  /** A read that began before this moment may have missed something. */
  doubtedAt: number;
}

/** Runs that are followed; the one that was used longest ago gives way, and the ledger is asked about it again. */
const runsMax = 1000;

/** A call is read again after this time even if nothing was heard, in case the brokers withhold messages. */
export const knownMsMax = 60_000;

/** Events about calls of one run that no read has shown. More of them make the whole run doubted, in less memory. */
const heardMax = 10_000;

/** These change nothing that a worker sees. */
const silentTypes = new Set(['ValuesRevealed', 'ToolCallShadowJudged']);

export function createKnownCalls(clock: Pick<Clock, 'monotonic'>): KnownCalls {
  const runs = new Map<string, Run>();
  const runOf = new Map<string, string>();
  const running = new Map<string, JsonObject | undefined>();
  const ofOtherStreams = typesOfOtherStreams();
  let moment = 0;

  const follow = (runId: string): void => {
    const run = runs.get(runId) ?? { calls: new Map<string, Known>(), heard: new Map(), doubtedAt: 0 };
    runs.delete(runId);
    runs.set(runId, run);
    const [oldest] = runs.keys();
    if (runs.size > runsMax && oldest !== undefined) forget(oldest);
  };
  const forget = (runId: string): void => {
    for (const callId of runs.get(runId)?.calls.keys() ?? []) runOf.delete(callId);
    runs.delete(runId);
  };
  const knownOf = (callId: string): { readonly run: Run; readonly known: Known } | undefined => {
    const run = runs.get(runOf.get(callId) ?? '');
    const known = run?.calls.get(callId);
    return run === undefined || known === undefined ? undefined : { run, known };
  };
  const mark = (callId: string, marks: Partial<Known>): void => {
    const found = knownOf(callId);
    found?.run.calls.set(callId, { ...found.known, ...marks });
  };
  const doubtRun = (runId: string): void => {
    const run = runs.get(runId);
    if (run === undefined) return;
    moment += 1;
    run.doubtedAt = moment;
    for (const callId of run.calls.keys()) mark(callId, { isDoubted: true });
  };
  const learnOne = (run: Run, view: ToolCallView, readFrom: number): void => {
    const { callId } = view;
    const before = run.calls.get(callId);
    if (before !== undefined && before.view.revision > view.revision) return;
    runOf.set(callId, view.runId);
    const heard = run.heard.get(callId);
    const isOlder = heard !== undefined && heard.at > readFrom && heard.revision > view.revision;
    if (!isOlder) run.heard.delete(callId);
    const isDoubted = isOlder || run.doubtedAt > readFrom;
    run.calls.set(callId, { view, readAtMs: clock.monotonic(), last: undefined, isDoubted });
  };
  return {
    follow,
    follows: (runId) => runs.has(runId),
    doubtRun,
    hear: (event) => {
      const run = runs.get(event.runId);
      if (run === undefined || ofOtherStreams.has(event.type)) return;
      moment += 1;
      if (run.heard.size >= heardMax) {
        run.heard.clear();
        doubtRun(event.runId);
      }
      const revision = Math.max(run.heard.get(event.callId)?.revision ?? 0, event.revision);
      run.heard.set(event.callId, { at: moment, revision });
      const known = run.calls.get(event.callId);
      if (known !== undefined) run.calls.set(event.callId, afterEvent(known, event));
    },
    gap: () => {
      for (const runId of runs.keys()) doubtRun(runId);
    },
    now: () => moment,
    learn: (views, readFrom) => {
      for (const view of views) {
        const run = runs.get(view.runId);
        if (run !== undefined) learnOne(run, view, readFrom);
      }
    },
    get: (callId) => {
      const known = knownOf(callId)?.known;
      if (known === undefined) return undefined;
      if (running.has(callId)) return known.view;
      return known.isDoubted || clock.monotonic() - known.readAtMs > knownMsMax ? undefined : known.view;
    },
    claiming: (callId) => void running.set(callId, undefined),
    claimed: (callId, args) => void running.set(callId, args),
    claimedArguments: (callId) => running.get(callId),
    released: (callId) => void running.delete(callId),
    doubt: (callId) => {
      running.delete(callId);
      mark(callId, { isDoubted: true });
    },
  };
}

/** The ledger counts the events of a call, so a missing one and a second one in the same place are noticed. */
function afterEvent(known: Known, { eventId, revision, type }: HeardEvent): Known {
  const { view, last } = known;
  if (revision <= view.revision || last?.eventId === eventId) return known;
  const isNext = revision === (last?.revision ?? view.revision) + 1;
  return { ...known, last: { eventId, revision }, isDoubted: known.isDoubted || !isNext || !silentTypes.has(type) };
}

/** Such events may name a call, but are not in its stream, whose revisions are counted here. */
function typesOfOtherStreams(): ReadonlySet<string> {
  const own = new Set<string>(toolCallEventTypes);
  return new Set(eventTypes.filter((type) => !own.has(type)));
}
