import { isSettled } from '@countersign/contracts';
import { CountersignError, resultOf, type Client, type ToolCallView } from '@countersign/worker-sdk';
import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import type { AnswerCall, ClientCall } from '../client/client-call.js';
import type { GateOptions } from '../calls/gate-options.js';
import { isForServer } from '../calls/is-for-server.js';
import { finalReply } from '../calls/replies.js';
import type { TaskIds } from '../calls/task-ids.js';
import type { TaskRun } from '../calls/task-run.js';
import type { Catalog } from '../server/catalog.js';
import { objectOf, type Reply } from '../wire.js';
import type { TaskWords } from './extension-view.js';
import { Refused } from './task-errors.js';
import type { TaskRuns } from './task-runs.js';
import type { TaskFacts } from './task-view.js';

/** The dependencies of the requests about tasks of the extension. */
export interface ExtensionRequestPorts {
  readonly ledger: Client;
  readonly options: GateOptions;
  readonly catalog: Catalog;
  readonly runs: TaskRuns;
  readonly ids: TaskIds;
  readonly words: TaskWords;
  readonly factsOf: (call: ToolCallView) => TaskFacts;
}

/** The handlers of `tasks/get`, `tasks/update` and `tasks/cancel`. The last two acknowledge, and say no more. */
export function createExtensionRequests(ports: ExtensionRequestPorts): ReadonlyMap<string, AnswerCall> {
  const { ledger, options, catalog, runs, ids, words, factsOf } = ports;

  const find = async ({ params, labels }: ClientCall): Promise<ToolCallView> => {
    const callId = ids.callIdOf(params['taskId']);
    const call = callId === undefined ? undefined : await ledger.getToolCall(callId);
    if (call === undefined || !isForServer(call, options, labels))
      throw new Refused(ErrorCode.InvalidParams, 'Task not found');
    return call;
  };
  const follow = async (request: ClientCall): Promise<readonly [ToolCallView, TaskRun | undefined]> => {
    const call = await find(request);
    await runs.adopt(call);
    const run = runs.find(call.callId);
    // After a restart of the gate the first request for the task says what its client can answer.
    if (run !== undefined && request.round !== undefined) run.capabilities ??= request.round.capabilities;
    return [call, run];
  };
  const get = async (request: ClientCall): Promise<Reply> => {
    const [call, run] = await follow(request);
    const ended = resultOf(call);
    if (ended === undefined && run?.hasEnded !== true) {
      return words.open(call, factsOf(call), run?.questions.open() ?? {});
    }
    if (run !== undefined) {
      const reply = await run.end;
      // The run was given up; the ledger knows how the call is.
      if ('error' in reply && run.inner.reply() === undefined) return reply;
      return words.ended(await ledger.getToolCall(call.callId), factsOf(call), reply, run);
    }
    if (ended === undefined) return words.open(call, factsOf(call), {});
    return words.ended(call, factsOf(call), finalReply(ended, await catalog.find(call.toolName), undefined), undefined);
  };
  const update = async (request: ClientCall): Promise<Reply> => {
    const [, run] = await follow(request);
    run?.questions.answer(objectOf(request.params['inputResponses']));
    return { result: {} };
  };
  /** In the draft for approvals the claim is final: a task is never cancelled when its tool ran. */
  const mayStop = options.toolApproval !== true;
  const cancelled = async (callId: string): Promise<'settled' | 'claimed'> => {
    try {
      await ledger.cancel(callId, 'the MCP client cancelled the task');
      return 'settled';
    } catch (error) {
      if (error instanceof CountersignError && error.code === 'already-claimed') return 'claimed';
      if (isSettled((await ledger.getToolCall(callId)).state)) return 'settled';
      throw error;
    }
  };
  const cancel = async (request: ClientCall): Promise<Reply> => {
    const call = await find(request);
    const run = runs.find(call.callId);
    if (isSettled(call.state) || run?.hasEnded === true) return { result: {} };
    const isClaimed = (await cancelled(call.callId)) === 'claimed';
    // Only the process that runs the tool can tell its server to stop.
    if (isClaimed && mayStop && run?.inner.hasBegun() === true) runs.stop(run);
    return { result: {} };
  };
  return new Map(Object.entries({ 'tasks/get': get, 'tasks/update': update, 'tasks/cancel': cancel }));
}
