import { createClient, modelText, type MayClaim, type ToolCallView } from '@countersign/worker-sdk';
import { ErrorCode, RELATED_TASK_META_KEY, type JSONRPCMessage, type Task } from '@modelcontextprotocol/sdk/types.js';
import type { Catalog } from '../server/catalog.js';
import type { AnswerCall, ClientCall } from '../client/client-call.js';
import { createEarlierTools } from '../calls/earlier-tools.js';
import { attempts, type GateOptions } from '../calls/gate-options.js';
import { readCall } from '../calls/gated-tool.js';
import type { InnerRequests } from '../server/inner-requests.js';
import { objectOf, type Reply } from '../wire.js';
import { createStatusNews } from './status-news.js';
import { guarded, Refused, tooManyTasks } from './task-errors.js';
import { createTaskIds, newTaskCallId } from '../calls/task-ids.js';
import { createTaskRequests } from './task-requests.js';
import { createTaskRuns } from './task-runs.js';
import { taskOf } from './task-view.js';

/** The tasks of one connection. The ledger has their state, so they survive the gate. */
export interface Tasks {
  /** A `tools/call` with the member `task`: replies with the task as soon as its call is recorded. */
  readonly create: AnswerCall;
  /** Returns the handler of a request `tasks/…`; undefined for other methods and for ids of other tasks. */
  readonly handlerOf: (method: string, params: Readonly<Record<string, unknown>>) => AnswerCall | undefined;
  /** Returns a message for the server with its own id of the task: the server never learns the gate's. */
  readonly fromClient: (message: JSONRPCMessage) => JSONRPCMessage;
  /** Returns a message of the server with the gate's task id, or undefined when it is not for the client. */
  readonly fromServer: (message: JSONRPCMessage) => JSONRPCMessage | undefined;
  /** The tool of a task runs now. */
  readonly isRunning: () => boolean;
  readonly close: () => Promise<void>;
}

/** The dependencies of tasks. */
export interface TaskPorts {
  readonly options: GateOptions;
  readonly catalog: Catalog;
  readonly requests: InnerRequests;
  readonly mayClaim: MayClaim;
  readonly toClient: (message: JSONRPCMessage) => void;
}

export function createTasks({ options, catalog, requests, mayClaim, toClient }: TaskPorts): Tasks {
  const ledger = createClient({ ...options, attempts });
  const ids = createTaskIds(options.token);
  const stricter = createEarlierTools(options);

  const describe = (call: ToolCallView): Task => {
    const task = taskOf(call, { taskId: ids.idOf(call.callId), inboxUrl: options.inboxUrl ?? options.url });
    if (runs.find(call.callId)?.isCancelled !== true) return task;
    // The ledger will have the true outcome of the tool; a cancelled task stays cancelled.
    return { ...task, status: 'cancelled', statusMessage: 'The client cancelled the task while its tool ran.' };
  };
  const tell = createStatusNews(
    async (callId) => describe(await ledger.getToolCall(callId)),
    (task) => {
      toClient({ jsonrpc: '2.0', method: 'notifications/tasks/status', params: task });
    },
  );
  const runs = createTaskRuns({ options, catalog, requests, mayClaim, changed: tell });

  const handlers = createTaskRequests({ ledger, options, catalog, runs, ids, describe });

  const create = async (call: ClientCall): Promise<Reply> => {
    const release = runs.reserve();
    if (release === undefined) throw tooManyTasks();
    return begin(call).finally(release);
  };
  const begin = async ({ params, labels, signal }: ClientCall): Promise<Reply> => {
    const { name, args } = readCall(params);
    const tool = await catalog.find(name);
    const prepared = runs.prepare(tool, { labels, params, stricter: await stricter(tool) });
    const toolCallId = newTaskCallId();
    const { runId, endpoint } = options;
    const step = { runId, batchId: endpoint, toolCalls: [{ toolCallId, toolName: name, arguments: args }] };
    const { state, results } = await prepared.worker.ask(step, { signal });
    const callId = state.calls[0]?.callId ?? null;
    if (callId === null) {
      const [failure] = results;
      throw new Refused(ErrorCode.InvalidParams, failure === undefined ? 'The call was refused' : modelText(failure));
    }
    const call = await ledger.getToolCall(callId);
    runs.follow(call, prepared);
    // A task begins in this state, also one that the policy has blocked already.
    const task: Task = { ...describe(call), status: 'working' };
    const text = `${task.statusMessage ?? `${name} runs.`} The result of the task comes later.`;
    return { result: { task, _meta: { 'io.modelcontextprotocol/model-immediate-response': text } } };
  };

  return {
    create: guarded(create),
    handlerOf: (method, params) => {
      const isOurs = method === 'tasks/list' || ids.callIdOf(params['taskId']) !== undefined;
      const handler = isOurs ? handlers.get(method) : undefined;
      return handler && guarded(handler);
    },
    fromClient: (message) =>
      withTaskId(message, (taskId) => {
        const callId = ids.callIdOf(taskId);
        return callId === undefined ? undefined : (runs.innerTaskIdOf(callId) ?? '');
      }),
    fromServer: (message) => {
      const callIdOf = (taskId: unknown): string | undefined => runs.withInnerTask(taskId) ?? ids.callIdOf(taskId);
      // The gate tells the client how its tasks are. The server does not know about the approval, and may say something false.
      const isStatus = 'method' in message && message.method === 'notifications/tasks/status';
      if (isStatus && callIdOf(objectOf(message.params)['taskId']) !== undefined) return undefined;
      return withTaskId(message, (taskId) => {
        const callId = runs.withInnerTask(taskId);
        return callId === undefined ? undefined : ids.idOf(callId);
      });
    },
    isRunning: () => runs.running().length > 0,
    close: runs.close,
  };
}

/** The message with another id of the task that it is related to; as it is when `other` knows none. */
function withTaskId(message: JSONRPCMessage, other: (taskId: unknown) => string | undefined): JSONRPCMessage {
  const part = 'result' in message ? message.result : 'method' in message ? message.params : undefined;
  const meta = objectOf(part?.['_meta']);
  const taskId = other(objectOf(meta[RELATED_TASK_META_KEY])['taskId']);
  if (taskId === undefined) return message;
  const changed = { ...part, _meta: { ...meta, [RELATED_TASK_META_KEY]: { taskId } } };
  return 'result' in message ? { ...message, result: changed } : { ...message, params: changed };
}
