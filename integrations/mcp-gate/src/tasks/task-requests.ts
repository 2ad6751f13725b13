import { CountersignError, resultOf, type Client, type ToolCallView } from '@countersign/worker-sdk';
import { ErrorCode, RELATED_TASK_META_KEY, type Task } from '@modelcontextprotocol/sdk/types.js';
import type { Catalog } from '../server/catalog.js';
import type { AnswerCall, ClientCall } from '../client/client-call.js';
import type { GateOptions } from '../calls/gate-options.js';
import { isForServer } from '../calls/is-for-server.js';
import { finalReply } from '../calls/replies.js';
import { objectOf, type Reply } from '../wire.js';
import { Refused, tooManyTasks } from './task-errors.js';
import { isTaskCall, type TaskIds } from '../calls/task-ids.js';
import type { TaskRun } from '../calls/task-run.js';
import type { TaskRuns } from './task-runs.js';
import { isTerminal } from './task-view.js';

/** The dependencies of the requests about tasks. */
export interface TaskRequestPorts {
  readonly ledger: Client;
  readonly options: GateOptions;
  readonly catalog: Catalog;
  readonly runs: TaskRuns;
  readonly ids: TaskIds;
  readonly describe: (call: ToolCallView) => Task;
}

const pageSize = 100;
const runsElsewhere = 'The tool is about to run, or runs at another gate. Cancel the task again, or at that gate.';

/** The handlers of `tasks/get`, `tasks/result`, `tasks/cancel` and `tasks/list`. */
export function createTaskRequests(ports: TaskRequestPorts): ReadonlyMap<string, AnswerCall> {
  const { ledger, options, catalog, runs, ids, describe } = ports;
  const { runId } = options;

  const find = async ({ params, labels }: ClientCall): Promise<ToolCallView> => {
    const callId = ids.callIdOf(params['taskId']);
    const call = callId === undefined ? undefined : await ledger.getToolCall(callId);
    if (call === undefined || !isForServer(call, options, labels))
      throw new Refused(ErrorCode.InvalidParams, 'Task not found');
    await runs.adopt(call);
    return call;
  };
  const get = async (request: ClientCall): Promise<Reply> => {
    const call = await find(request);
    const run = runs.find(call.callId);
    const task = describe(call);
    return { result: { ...(isTerminal(task) ? task : { ...task, ...(await innerStatus(run)) }) } };
  };
  /** A server with tasks of its own knows more about a tool that runs. */
  const innerStatus = async (run: TaskRun | undefined): Promise<Partial<Task>> =>
    run?.innerTaskId === undefined ? {} : run.innerStatus(run.innerTaskId);

  const result = async (request: ClientCall): Promise<Reply> => {
    const call = await find(request);
    const run = runs.find(call.callId);
    const ended = resultOf(call);
    const taskId = ids.idOf(call.callId);
    if (run !== undefined) return related(await endOf(run, request.signal), taskId);
    if (ended === undefined) throw tooManyTasks();
    return related(finalReply(ended, await catalog.find(call.toolName), undefined), taskId);
  };

  const list = async ({ params: { cursor }, labels }: ClientCall): Promise<Reply> => {
    if (cursor !== undefined && typeof cursor !== 'string')
      throw new Refused(ErrorCode.InvalidParams, 'Invalid cursor');
    const page = await ledger.listToolCalls({ runId, cursor, limit: pageSize });
    // Tasks of an earlier gate are known once the client has asked about them.
    const known = cursor === undefined ? await Promise.all(runs.callIds().map((id) => ledger.getToolCall(id))) : [];
    const earlier = known.filter((call) => call.runId !== runId);
    const inRun = page.calls.filter((call) => isTaskCall(call) && isForServer(call, options, labels));
    const tasks = [...inRun, ...earlier].map(describe);
    return { result: { tasks, ...(page.nextCursor === null ? {} : { nextCursor: page.nextCursor }) } };
  };

  const cancel = async (request: ClientCall): Promise<Reply> => {
    const call = await find(request);
    const task = describe(call);
    if (isTerminal(task)) {
      throw new Refused(ErrorCode.InvalidParams, `Cannot cancel task in terminal status: ${task.status}`);
    }
    try {
      await ledger.cancel(call.callId, 'the MCP client cancelled the task');
    } catch (error) {
      const run = runs.find(call.callId);
      const isClaimed = error instanceof CountersignError && error.code === 'already-claimed';
      if (!isClaimed) throw error;
      // Only the process that runs the tool can tell its server to stop.
      if (run?.inner.hasBegun() !== true) throw new Refused(ErrorCode.InternalError, runsElsewhere);
      runs.cancel(run);
    }
    return { result: { ...describe(await ledger.getToolCall(call.callId)) } };
  };

  return new Map(
    Object.entries({ 'tasks/get': get, 'tasks/result': result, 'tasks/cancel': cancel, 'tasks/list': list }),
  );
}

/** The end of a run, unless the client stops waiting for it. The task goes on. */
async function endOf({ end }: TaskRun, signal: AbortSignal): Promise<Reply> {
  const stopped = Promise.withResolvers<never>();
  const stop = (): void => {
    stopped.reject(new Refused(ErrorCode.InternalError, 'The request was cancelled'));
  };
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([end, stopped.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function related(reply: Reply, taskId: string): Reply {
  if ('error' in reply) return reply;
  const _meta = { ...objectOf(reply.result['_meta']), [RELATED_TASK_META_KEY]: { taskId } };
  return { result: { ...reply.result, _meta } };
}
