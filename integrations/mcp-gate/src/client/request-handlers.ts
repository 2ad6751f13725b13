import { ErrorCode, type JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import type { GatedCallPorts, GatedCalls } from '../calls/gated-calls.js';
import { isUngatedCall } from '../calls/ungated.js';
import type { ExtensionTasks } from '../tasks/extension-tasks.js';
import type { TaskOffer } from '../tasks/task-offer.js';
import type { Tasks } from '../tasks/tasks.js';
import { withDenial } from '../tasks/tool-approval.js';
import { isObject, resemblesToolCall, type ClientWire, type Reply } from '../wire.js';
import type { AnswerCall } from './client-call.js';
import type { Handler } from './client-requests.js';
import type { Session } from './session.js';

/** What answers the requests that the gate does not pass on. */
export interface HandlerPorts extends Pick<GatedCallPorts, 'options' | 'catalog'> {
  readonly offer: TaskOffer;
  readonly tasks: Tasks;
  readonly extension: ExtensionTasks;
  readonly gated: GatedCalls;
  readonly roundOf: Required<ClientWire>['roundOf'];
  readonly session: Pick<Session, 'begun'>;
}

/** Returns a function that returns the handler of a request; undefined for a request that goes to the server. */
export function createHandlers(ports: HandlerPorts): (request: JSONRPCRequest) => Handler | undefined {
  const { options, catalog, offer, tasks, extension, gated, roundOf, session } = ports;
  const denial = options.toolApproval === true ? withDenial : (reply: Reply): Reply => reply;
  const answerTool: Handler = async (call) => {
    // The attack: a call without a session, or before the server has told its name, passes the rules for the server of that name.
    if (call.round === undefined && !(await session.begun(call.signal))) return noSession;
    if (await isUngatedCall(options.ungated, call, catalog)) return undefined;
    if (call.round?.takesTasks === true) return denial(await extension.call(call));
    return offer.isMade() && isObject(call.params['task']) ? tasks.create(call) : denial(await gated.answer(call));
  };
  return ({ id, method, params = {} }) => {
    // Passed on, it would let the two sides agree on a version in which the gate has not begun.
    if (method === 'server/discover') return noMethod;
    if (resemblesToolCall(method)) return method === 'tools/call' ? answerTool : noMethod;
    if (roundOf(id) !== undefined) return extension.handlerOf(method);
    if (!offer.isMade() || !method.startsWith('tasks/')) return undefined;
    return tasks.handlerOf(method, params) ?? (offer.serverHasTasks() ? undefined : noTask);
  };
}

const noSession: Reply = {
  error: { code: ErrorCode.InvalidRequest, message: 'The tool did not run: a session begins with initialize' },
};

/** The reply about a task that neither the gate nor the server has. */
const noTask: AnswerCall = async () => ({ error: { code: ErrorCode.InvalidParams, message: 'Task not found' } });

const noMethod: AnswerCall = async () => ({ error: { code: ErrorCode.MethodNotFound, message: 'Method not found' } });
