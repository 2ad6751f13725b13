import type { ToolCallView } from '@countersign/contracts';
import type { Changed, Changes } from '../ledger/changes.js';
import { messageOf } from '../errors.js';
import type { ExecutionPorts, ExecutionRequest } from './execution-ports.js';
import { executeCall, type ExecutionEnd } from './execution.js';
import { createStopWait, type StopWait } from './stop-wait.js';
import type { Session } from '../results/outcome.js';
import type { CallReads } from '../ledger/requests.js';

/** A finished execution, and the call after it. */
interface Run {
  readonly end: ExecutionEnd;
  readonly view: ToolCallView;
}

/** The executions of one worker. A call runs once at a time, for any number of waiting callers. */
export interface Executions {
  /** Returns the execution in progress, or starts a new one if it is requested and possible. */
  readonly joinOrBegin: (view: ToolCallView, request: ExecutionRequest | undefined) => Promise<Run> | undefined;
  /** The words of the stop for whose end an execution waits; undefined: none. */
  readonly stopOf: (callId: string) => string | undefined;
  /** Resolves when the execution in progress has tried again, and waits for the end of a stop. */
  readonly whenStopped: (callId: string) => Promise<void>;
  /** Resolves when nothing runs. */
  readonly idle: () => Promise<void>;
}

const never = new Promise<void>(() => undefined);

/** `notice` hears of each call that has run. */
export function createExecutions(
  ports: ExecutionPorts,
  notice: (call: ToolCallView) => void,
  readAfterRun: CallReads['afterRun'],
): Executions {
  const running = new Map<string, Promise<Run>>();
  const stops = new Map<string, StopWait>();
  // A refused claim is not tried again until something has happened to the call.
  const refusedAt = new Map<string, number>();

  const run = async (request: ExecutionRequest): Promise<Run> => {
    const { callId, revision } = request.call;
    const stop = createStopWait();
    stops.set(callId, stop);
    try {
      const end = await executeCall(ports, request, stop);
      if (end === 'not-claimable') refusedAt.set(callId, revision);
      else refusedAt.delete(callId);
      const view = await readAfterRun(callId, { attempts: Infinity, signal: ports.stopped });
      notice(view);
      return { end, view };
    } finally {
      running.delete(callId);
      stops.delete(callId);
    }
  };
  const begin = (request: ExecutionRequest): Promise<Run> => {
    const { callId } = request.call;
    const promise = run(request);
    running.set(callId, promise);
    // The waiting callers get a failure; without one, it is only logged.
    promise.catch((error: unknown) => {
      ports.log.error({ callId, error: messageOf(error) }, 'an execution failed outside its tool');
    });
    return promise;
  };
  return {
    joinOrBegin: ({ callId, revision }, request) => {
      const mayBegin = !ports.stopping.aborted && refusedAt.get(callId) !== revision;
      return running.get(callId) ?? (request !== undefined && mayBegin ? begin(request) : undefined);
    },
    stopOf: (callId) => stops.get(callId)?.detail() ?? undefined,
    whenStopped: async (callId) => stops.get(callId)?.whenHeld() ?? never,
    idle: async () => {
      while (running.size > 0) await Promise.allSettled(running.values());
    },
  };
}

/** The running executions of one session. */
export interface Runs {
  readonly has: (callId: string) => boolean;
  readonly add: (callId: string, run: Promise<Run>) => void;
  /** The number of calls that run. */
  readonly count: () => number;
  /** Resolves when all are over, or wait for the end of a stop; then rejects if one failed outside of its tool. */
  readonly allOver: (whenStopped: Executions['whenStopped']) => Promise<void>;
  /** A claim refused because the batch was incomplete may succeed once something has changed. */
  readonly forgetRefusals: (changed: Changed) => void;
}

/** Follows the executions of a session: each ends with its new view in the session, and with a wake-up. */
export function createRuns(session: Session, changes?: Changes): Runs {
  const underWay = new Map<string, Promise<void>>();
  const incomplete = new Set<string>();
  const follow = async (callId: string, run: Promise<Run>): Promise<void> => {
    try {
      const { end, view } = await run;
      session.views.set(callId, view);
      if (end === 'batch-incomplete') incomplete.add(callId);
      changes?.wake();
    } catch (error) {
      changes?.fail(error instanceof Error ? error : new Error(messageOf(error)));
      throw error;
    } finally {
      underWay.delete(callId);
    }
  };
  return {
    has: (callId) => underWay.has(callId) || incomplete.has(callId),
    add: (callId, run) => {
      const followed = follow(callId, run);
      underWay.set(callId, followed);
      followed.catch(() => undefined);
    },
    count: () => underWay.size,
    allOver: async (whenStopped) => {
      const ends = [...underWay].map(([callId, run]) => Promise.race([run, whenStopped(callId)]));
      for (const end of await Promise.allSettled(ends)) if (end.status === 'rejected') throw end.reason;
    },
    forgetRefusals: (changed) => {
      if (changed === 'anything' || changed.size > 0) incomplete.clear();
    },
  };
}
