import { isSettled } from '@countersign/contracts';
import { sleepOrThrow, systemClock } from '@countersign/contracts/clock';
import type { RunState, ToolCallView, ToolResult, Worker } from '@countersign/worker-sdk';
import { failureReply, finalReply, refusal } from '../calls/replies.js';
import type { PreparedRun, TaskRun } from '../calls/task-run.js';
import { LostRunError } from '../server/inner-run.js';
import type { ListedTool } from '../server/listed-tool.js';
import type { Reply } from '../wire.js';
import { prepareRun, type RunPorts, type RunRequest } from './prepare-run.js';

/** The dependencies of the runs of tasks. */
export interface TaskRunPorts extends RunPorts {
  /** Returns the parameters, besides the name and the arguments, of a request that another gate got. Default: none. */
  readonly adopted?: (callId: string) => Readonly<Record<string, unknown>>;
}

/** The calls of tasks that this connection follows. */
export interface TaskRuns {
  readonly prepare: (tool: ListedTool, request: RunRequest) => PreparedRun;
  readonly follow: (call: ToolCallView, prepared: PreparedRun) => TaskRun;
  /** Follows a call that no connection of this gate follows yet, for example one of an earlier gate. */
  readonly adopt: (call: ToolCallView) => Promise<void>;
  /** Also finds the run of another connection of this gate. */
  readonly find: (callId: string) => TaskRun | undefined;
  /** Tells the inner server to stop, and does not wait for it. */
  readonly cancel: (run: TaskRun) => void;
  /** Tells the inner server to stop, and gives it time to respond: the task ends as the tool does. */
  readonly stop: (run: TaskRun) => void;
  /** Keeps a place for a task that is being created; undefined when there is none. Returns what gives it back. */
  readonly reserve: () => (() => void) | undefined;
  /** The runs of this connection whose tool runs now. */
  readonly running: () => readonly TaskRun[];
  /** The ids of the calls that this connection follows, or followed. */
  readonly callIds: () => readonly string[];
  readonly innerTaskIdOf: (callId: string) => string | undefined;
  readonly withInnerTask: (taskId: unknown) => string | undefined;
  readonly close: () => Promise<void>;
}

/** Unfinished tasks of a connection. Each run has an event stream, and the server limits those of a principal. */
export const runsMax = 64;
/** Replies that are kept as the server gave them. The ledger has the results of all. */
const endedMax = 32;
const byClient = new Error('the client has cancelled the task');
/** After a cancellation a server has this long to respond nevertheless; then the outcome is unknown. */
const cancelGraceMs = 10_000;
/** While a tool runs, and until its result is reported: an hour of failures. */
const failuresMax = 3_600;
const retryMs = 1_000;

export function createTaskRuns(ports: TaskRunPorts): TaskRuns {
  const { options, catalog, adopted = () => ({}), changed } = ports;
  const runs = new Map<string, TaskRun>();
  const { followedTasks = new Map<string, TaskRun>() } = options;
  const forget = (callId: string): void => {
    if (followedTasks.get(callId) === runs.get(callId)) followedTasks.delete(callId);
    runs.delete(callId);
  };
  const find = (callId: string): TaskRun | undefined => runs.get(callId) ?? followedTasks.get(callId);
  const closing = new AbortController();

  const follow: TaskRuns['follow'] = (call, prepared) => {
    const { callId, approval } = call;
    prepared.askedLabels = approval?.labels;
    const toEnd = async (): Promise<Reply> => {
      const { worker, inner, tool } = prepared;
      const runsHere = (): boolean => inner.hasBegun() && !run.isCancelled;
      try {
        const result = await Promise.race([resultOfCall(worker, call, closing.signal, runsHere), inner.lost]);
        run.outcome = result.status === 'unknown' ? 'unknown' : 'final';
        return finalReply(result, tool, inner.reply());
      } catch (error) {
        if (inner.reply() !== undefined) run.outcome = 'final';
        if (run.isCancelled) return cancelledReply(callId);
        // The ledger knows how it ends: the next request for the task follows it again.
        forget(callId);
        return error instanceof LostRunError ? failureReply(error) : notFollowed(error, inner.reply());
      } finally {
        run.hasEnded = true;
        run.questions.end('the task has ended without an answer');
        for (const old of oldestEnded(runs)) forget(old);
        void worker.close(run.isCancelled ? cancelGraceMs : 0);
        changed(callId);
        options.onTaskEnd?.();
      }
    };
    // `toEnd` needs the run.
    const run: TaskRun = Object.assign(prepared, {
      end: Promise.resolve().then(() => toEnd()),
      hasEnded: false,
      isCancelled: false,
      outcome: 'unknown' as const,
    });
    runs.set(callId, run);
    followedTasks.set(callId, run);
    return run;
  };

  let reserved = 0;
  const isFull = (): boolean => reserved + [...runs.values()].filter(({ hasEnded }) => !hasEnded).length >= runsMax;
  return {
    prepare: (tool, request) => prepareRun(ports, tool, request),
    follow,
    adopt: async (call) => {
      const isTaken = (): boolean => find(call.callId) !== undefined || isFull();
      if (isSettled(call.state) || isTaken()) return;
      const tool = await catalog.find(call.toolName);
      const params = { ...adopted(call.callId), name: call.toolName };
      if (!isTaken()) follow(call, prepareRun(ports, tool, { labels: {}, params }));
    },
    find,
    cancel: (run) => {
      run.isCancelled = true;
      run.cancelling.abort(byClient);
      void run.worker.close(cancelGraceMs);
    },
    stop: (run) => {
      run.isCancelled = true;
      run.cancelling.abort(byClient);
      const giveUp = setTimeout(() => void run.worker.close(0), cancelGraceMs).unref();
      void run.end.finally(() => clearTimeout(giveUp));
    },
    reserve: () => {
      if (isFull()) return undefined;
      reserved += 1;
      return () => {
        reserved -= 1;
      };
    },
    running: () => [...runs.values()].filter(({ hasEnded, inner }) => !hasEnded && inner.hasBegun()),
    callIds: () => [...runs.keys()],
    innerTaskIdOf: (callId) => runs.get(callId)?.innerTaskId,
    withInnerTask: (taskId) =>
      typeof taskId === 'string' ? [...runs].find(([, run]) => run.innerTaskId === taskId)?.[0] : undefined,
    close: async () => {
      closing.abort(new Error('the gate is closed'));
      // A cancelled tool still has time to respond; a closed connection cannot.
      await Promise.all([...runs.values()].map(({ end, worker }) => Promise.all([end, worker.close(0)])));
      for (const callId of [...runs.keys()]) forget(callId);
    },
  };
}

/** @param runsHere returns whether the tool was started here. Then an error of Countersign, such as a token that it refuses for a moment, must not cost the result. */
async function resultOfCall(
  worker: Worker,
  call: ToolCallView,
  signal: AbortSignal,
  runsHere: () => boolean,
): Promise<ToolResult> {
  const { callId, toolCallId, toolName, runId } = call;
  const known = { callId, toolCallId, toolName, argumentsHash: null, local: null, seenRevision: null };
  let state: RunState = { version: 1, runId, batchMode: null, calls: [known] };
  for (let failures = 0; ;) {
    try {
      const outcome = await worker.wait(state, { signal });
      const [result] = outcome.results;
      if (result !== undefined) return result;
      state = outcome.state;
    } catch (error) {
      failures += 1;
      if (signal.aborted || !runsHere() || failures > failuresMax) throw error;
      await sleepOrThrow(systemClock, retryMs, signal);
    }
  }
}

function cancelledReply(callId: string): Reply {
  const text = 'The task was cancelled while its tool ran. It may or may not have taken effect; it is not run again.';
  return refusal(text, { status: 'cancelled', callId });
}

/**
 * The reply when this process cannot follow the call any longer. `ran` is set when the tool ran and only its report is
 * missing.
 */
function notFollowed(error: unknown, ran: Reply | undefined): Reply {
  if (ran !== undefined) return ran;
  const cause = error instanceof Error ? error.message : String(error);
  return { error: { code: -32603, message: `The task is not followed: ${cause}. Ask for it again.` } };
}

function oldestEnded(runs: ReadonlyMap<string, TaskRun>): readonly string[] {
  const ended = [...runs].filter(([, { hasEnded, isCancelled }]) => hasEnded && !isCancelled);
  return ended.slice(0, Math.max(0, ended.length - endedMax)).map(([callId]) => callId);
}
