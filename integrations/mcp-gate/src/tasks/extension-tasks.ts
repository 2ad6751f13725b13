import { randomUUID } from 'node:crypto';
import { isSettled } from '@countersign/contracts';
import { createClient, issuesText, type Step, type ToolCallView, type ToolResult } from '@countersign/worker-sdk';
import { ErrorCode, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { createEarlierTools } from '../calls/earlier-tools.js';
import { attempts } from '../calls/gate-options.js';
import { isRefused, type GatedCallPorts } from '../calls/gated-calls.js';
import { readCall } from '../calls/gated-tool.js';
import { failureReply, finalReply, refusal } from '../calls/replies.js';
import { ForeignStateError } from '../calls/request-state.js';
import { createTaskIds } from '../calls/task-ids.js';
import type { PreparedRun, TaskRun } from '../calls/task-run.js';
import type { AnswerCall, ClientCall } from '../client/client-call.js';
import { byClient } from '../client/client-requests.js';
import { failed } from '../stateless/request-facts.js';
import type { Reply } from '../wire.js';
import { createExtensionRequests } from './extension-requests.js';
import { plainWords } from './extension-view.js';
import { approvalWords } from './tool-approval.js';
import { askTask } from './task-askers.js';
import { guarded, tooManyTasks } from './task-errors.js';
import { createTaskRuns } from './task-runs.js';
import type { TaskFacts } from './task-view.js';

/** The tasks of the extension for tasks, of one connection. The ledger has their state, so they survive the gate. */
export interface ExtensionTasks {
  /** A `tools/call` of a client that takes tasks: one that waits for people, or runs for long, becomes a task. */
  readonly call: AnswerCall;
  /** Returns the handler of a request of the extension; undefined for other methods. */
  readonly handlerOf: (method: string) => AnswerCall | undefined;
  /** Takes a message of the server; returns whether it was a question about a task. */
  readonly ask: (message: JSONRPCMessage) => boolean;
  /** The tool of a task runs now. */
  readonly isRunning: () => boolean;
  readonly close: () => Promise<void>;
}

/** The dependencies of these tasks. */
export interface ExtensionTaskPorts extends GatedCallPorts {
  readonly toServer: (message: JSONRPCMessage) => void;
  /** A request of a client for a tool is open: a question of a server that names no request may be about it. */
  readonly hasOpenCall: () => boolean;
}

/** A tool that runs for longer becomes a task, also without a hold. */
const holdMsMin = 1_000;

export function createExtensionTasks(ports: ExtensionTaskPorts): ExtensionTasks {
  const { options, catalog, known, toServer, hasOpenCall } = ports;
  const ledger = createClient({ ...options, attempts });
  const ids = createTaskIds(options.token);
  const words = options.toolApproval === true ? approvalWords : plainWords;
  const stricter = createEarlierTools(options);
  const runs = createTaskRuns({
    ...ports,
    answerServer: toServer,
    adopted: () => ({ _meta: { progressToken: `task-${randomUUID()}` } }),
    changed: () => undefined,
  });
  /** The runs whose client still waits for the first reply. Its request carries the questions of the server. */
  const awaited = new Set<TaskRun>();
  const running = () => runs.running().filter((run) => !awaited.has(run));
  const factsOf = ({ callId }: ToolCallView): TaskFacts => ({
    taskId: ids.idOf(callId),
    inboxUrl: options.inboxUrl ?? options.url,
  });
  const handlers = createExtensionRequests({ ledger, options, catalog, runs, ids, words, factsOf });

  const firstReply = async (run: TaskRun, call: ToolCallView): Promise<Reply> => {
    if (call.approval !== null && !isSettled(call.state)) return words.created(call, factsOf(call));
    const first = await untilLong(run, options.holdMs).finally(() => awaited.delete(run));
    if (first !== undefined && call.approval === null) return first;
    // Countersign may be away for a moment. What is known is enough: the reply must not say that the tool did not run.
    const now = await ledger.getToolCall(call.callId).catch(() => call);
    return first === undefined ? words.created(now, factsOf(now)) : words.direct(now, first, run);
  };
  const runOf = (call: ToolCallView, prepared: PreparedRun, { signal, round }: ClientCall): TaskRun => {
    const earlier = runs.find(call.callId);
    if (earlier !== undefined) {
      void prepared.worker.close(0);
      return earlier;
    }
    const run = runs.follow(call, prepared);
    run.capabilities = round?.capabilities;
    if (call.approval === null || isSettled(call.state)) awaited.add(run);
    signal.addEventListener('abort', () => {
      // Once the client has a task, it cancels the task.
      if (signal.reason === byClient && awaited.has(run) && run.inner.hasBegun()) runs.cancel(run);
    });
    return run;
  };
  const begin = async (request: ClientCall): Promise<Reply> => {
    const { params, labels, signal } = request;
    const { name, args, givenId } = readCall(params);
    const tool = await catalog.find(name, signal);
    const prepared = runs.prepare(tool, { labels, params, stricter: await stricter(tool) });
    const checked = await prepared.check(args);
    if (!checked.valid) throw new TypeError(`Invalid arguments: ${issuesText(checked.issues)}`);
    const { attached } = await known.attach(request, { name, args: checked.arguments, givenId });
    try {
      const { runId, endpoint } = options;
      const proposed = { toolCallId: attached.toolCallId, toolName: name, arguments: args };
      const callId = await record(prepared, { runId, batchId: endpoint, toolCalls: [proposed] }, signal);
      if (typeof callId !== 'string') {
        attached.refused();
        return finalReply(callId, tool, undefined);
      }
      attached.recorded();
      const call = await ledger.getToolCall(callId);
      const run = runOf(call, prepared, request);
      void run.end.then(() => {
        attached.end(run.outcome);
      });
      return await firstReply(run, call);
    } catch (error) {
      if (isRefused(error)) attached.refused();
      throw error;
    } finally {
      attached.release();
    }
  };
  const call: AnswerCall = async (request) => {
    const release = runs.reserve();
    if (release === undefined)
      return refusal(`The tool did not run: ${tooManyTasks().message}`, { status: 'too-many-tasks' });
    try {
      return await begin(request);
    } catch (error) {
      if (error instanceof ForeignStateError) return failed(ErrorCode.InvalidParams, error.message);
      return failureReply(error);
    } finally {
      release();
    }
  };
  return {
    call,
    handlerOf: (method) => {
      const handler = handlers.get(method);
      return handler && guarded(handler);
    },
    ask: (message) => askTask({ running, hasOpenCall }, message),
    isRunning: () => runs.running().length > 0,
    close: runs.close,
  };
}

/** Resolves to the end of a run, or to undefined when the server has made it a task, and when it runs for long. */
async function untilLong(run: TaskRun, holdMs: number): Promise<Reply | undefined> {
  const { promise: isLong, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, Math.max(holdMs, holdMsMin), undefined).unref();
  return Promise.race([run.end, run.becameTask, isLong]).finally(() => {
    clearTimeout(timer);
  });
}

/** Returns the id of the call in the ledger, or why the ledger has none. */
async function record({ worker }: PreparedRun, step: Step, signal: AbortSignal): Promise<string | ToolResult> {
  const { state, results } = await worker.ask(step, { signal });
  return state.calls[0]?.callId ?? (results[0] as ToolResult);
}
