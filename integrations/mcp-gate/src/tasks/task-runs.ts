import { isSettled } from '@countersign/contracts';
import {
  createWorker,
  type MayClaim,
  type RunState,
  type ToolCallView,
  type ToolResult,
  type Worker,
} from '@countersign/worker-sdk';
import type { Catalog } from '../server/catalog.js';
import type { ListedTool } from '../server/listed-tool.js';
import { attempts, type GateOptions } from '../calls/gate-options.js';
import { checkDefinition, gatedToolOf, paramsForServer, toolLabelsOf } from '../calls/gated-tool.js';
import type { InnerRequests } from '../server/inner-requests.js';
import { createInnerRun, LostRunError } from '../server/inner-run.js';
import { sendAsTask } from '../server/inner-task.js';
import { failureReply, finalReply, refusal } from '../calls/replies.js';
import type { Reply } from '../wire.js';
import { createInnerStatus } from '../server/inner-status.js';
import type { PreparedRun, TaskRun } from '../calls/task-run.js';

/** The dependencies of the runs of tasks. */
export interface TaskRunPorts {
  readonly options: GateOptions;
  readonly catalog: Catalog;
  readonly requests: InnerRequests;
  readonly mayClaim: MayClaim;
  /** Called when the call of a task is decided, and when its run has ended. */
  readonly changed: (callId: string) => void;
}

/** The calls of tasks that this connection follows. */
export interface TaskRuns {
  /**
   * @param params those of the client's request.
   * @param stricter the tool with the hints that count. Default: those of the tool.
   */
  readonly prepare: (
    tool: ListedTool,
    labels: Readonly<Record<string, string>>,
    params: Readonly<Record<string, unknown>>,
    stricter?: ListedTool,
  ) => PreparedRun;
  readonly follow: (call: ToolCallView, prepared: PreparedRun) => void;
  /** Follows a call that no connection of this gate follows yet, for example one of an earlier gate. */
  readonly adopt: (call: ToolCallView) => Promise<void>;
  /** Also finds the run of another connection of this gate. */
  readonly find: (callId: string) => TaskRun | undefined;
  /** Tells the inner server to stop, and does not wait for it. */
  readonly cancel: (run: TaskRun) => void;
  /** Keeps a place for a task that is being created; undefined when there is none. Returns what gives it back. */
  readonly reserve: () => (() => void) | undefined;
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
/** After a cancellation a server has this long to respond nevertheless; then the outcome is unknown. */
const cancelGraceMs = 10_000;

export function createTaskRuns({ options, catalog, requests, mayClaim, changed }: TaskRunPorts): TaskRuns {
  const runs = new Map<string, TaskRun>();
  const { followedTasks = new Map<string, TaskRun>() } = options;
  const forget = (callId: string): void => {
    if (followedTasks.get(callId) === runs.get(callId)) followedTasks.delete(callId);
    runs.delete(callId);
  };
  const find = (callId: string): TaskRun | undefined => runs.get(callId) ?? followedTasks.get(callId);
  const closing = new AbortController();

  const prepare: TaskRuns['prepare'] = (tool, labels, params, stricter = tool) => {
    const cancelling = new AbortController();
    const hasOnlyTasks = tool.execution?.taskSupport === 'required';
    const onTask = (taskId: string): void => {
      prepared.innerTaskId = taskId;
    };
    const inner = createInnerRun((args) => {
      const request = paramsForServer(params, args);
      return hasOnlyTasks ? sendAsTask(requests, request, onTask) : requests.send('tools/call', request);
    }, cancelling.signal);
    const gated = gatedToolOf(
      stricter,
      options.gate,
      { ...labels, ...toolLabelsOf(tool, options.endpoint) },
      async (args) => {
        checkDefinition(prepared.askedLabels, tool, await catalog.find(tool.name));
        return inner.execute(args);
      },
    );
    const onDecided = ({ callId }: ToolCallView): void => {
      changed(callId);
    };
    const worker = createWorker({ ...options, tools: [gated], hooks: { onDecided }, attempts }, mayClaim);
    const prepared: PreparedRun = {
      ...{ worker, tool, inner, cancelling, innerTaskId: undefined, askedLabels: undefined },
      innerStatus: createInnerStatus(requests),
    };
    return prepared;
  };

  const follow = (call: ToolCallView, prepared: PreparedRun): void => {
    const { callId, approval } = call;
    prepared.askedLabels = approval?.labels;
    const toEnd = async (): Promise<Reply> => {
      const { worker, inner, tool } = prepared;
      try {
        const result = await Promise.race([resultOfCall(worker, call, closing.signal), inner.lost]);
        return finalReply(result, tool, inner.reply());
      } catch (error) {
        if (run.isCancelled) return cancelledReply(callId);
        // The ledger knows how it ends: the next request for the task follows it again.
        forget(callId);
        return error instanceof LostRunError ? failureReply(error) : notFollowed(error, inner.reply());
      } finally {
        run.hasEnded = true;
        for (const old of oldestEnded(runs)) forget(old);
        void worker.close(run.isCancelled ? cancelGraceMs : 0);
        changed(callId);
      }
    };
    // `toEnd` needs the run.
    const run: TaskRun = Object.assign(prepared, {
      end: Promise.resolve().then(() => toEnd()),
      hasEnded: false,
      isCancelled: false,
    });
    runs.set(callId, run);
    followedTasks.set(callId, run);
  };

  let reserved = 0;
  const isFull = (): boolean => reserved + [...runs.values()].filter(({ hasEnded }) => !hasEnded).length >= runsMax;
  return {
    prepare,
    follow,
    adopt: async (call) => {
      const isTaken = (): boolean => find(call.callId) !== undefined || isFull();
      if (isSettled(call.state) || isTaken()) return;
      const tool = await catalog.find(call.toolName);
      if (!isTaken()) follow(call, prepare(tool, {}, { name: call.toolName }));
    },
    find,
    cancel: (run) => {
      run.isCancelled = true;
      run.cancelling.abort(new Error('the client has cancelled the task'));
      void run.worker.close(cancelGraceMs);
    },
    reserve: () => {
      if (isFull()) return undefined;
      reserved += 1;
      return () => {
        reserved -= 1;
      };
    },
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

async function resultOfCall(worker: Worker, call: ToolCallView, signal: AbortSignal): Promise<ToolResult> {
  const { callId, toolCallId, toolName, runId } = call;
  const known = { callId, toolCallId, toolName, argumentsHash: null, local: null, seenRevision: null };
  let state: RunState = { version: 1, runId, batchMode: null, calls: [known] };
  for (;;) {
    const outcome = await worker.wait(state, { signal });
    const [result] = outcome.results;
    if (result !== undefined) return result;
    state = outcome.state;
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
