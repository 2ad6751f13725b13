import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { ConnectionLostError } from '../server/inner-requests.js';
import { isObject, objectOf, type Reply } from '../wire.js';
import { failed } from './request-facts.js';

type Members = Readonly<Record<string, unknown>>;

/** A task of a stateless server, which the gate follows to its end. */
export interface ServedTask {
  /** Resolves to the end of the call. Rejects with a `ConnectionLostError` when it cannot be known. */
  readonly end: Promise<Reply>;
  /** Tells the server to stop. The task ends as the server says. */
  readonly cancel: () => void;
}

/** How the gate follows a task. */
export interface ServedTaskPorts {
  /** Makes a request about the task. */
  readonly request: (method: string, params: Members) => Promise<Reply>;
  /** Asks the client one question. Rejects when the client cannot answer. */
  readonly ask: (key: string, question: unknown) => Promise<Members>;
  readonly isClosed: () => boolean;
}

/** A server that says nothing, too little or too much. */
const pauseMsDefault = 1_000;
const pauseMsMin = 50;
const pauseMsMax = 30_000;
/** A server that does not respond is asked again after this time. */
const lookMsMax = 60_000;
/** A server that restarts still has the task. */
const silenceMsMax = 300_000;
/** The calls of the gate wait for a shorter time after a cancellation. */
const cancelMsMax = 60_000;
/** The server has no such task, so nothing more can be known. */
const finalErrors: readonly number[] = [ErrorCode.InvalidParams, ErrorCode.MethodNotFound];

/** @param created the result with which the server made the task. */
export function followTask(ports: ServedTaskPorts, created: Members): ServedTask {
  const { request, ask, isClosed } = ports;
  const { taskId } = created;
  const asked = new Set<string>();
  const given = Promise.withResolvers<Reply>();
  let isGiven = false;
  let wake = (): void => undefined;
  let heardAt = Date.now();
  let cancelledAt = Infinity;

  const tell = (method: string, params: Members = {}): void => {
    request(method, { taskId, ...params }).catch(() => undefined);
    wake();
  };
  const answer = async (key: string, question: unknown): Promise<void> => {
    try {
      tell('tasks/update', { inputResponses: await ask(key, question) });
    } catch (error) {
      isGiven = true;
      given.resolve(failed(ErrorCode.InternalError, error instanceof Error ? error.message : String(error)));
      tell('tasks/cancel');
    }
  };
  const answerAll = ({ inputRequests }: Members): void => {
    for (const [key, question] of Object.entries(objectOf(inputRequests))) {
      if (asked.has(key)) continue;
      asked.add(key);
      void answer(key, question);
    }
  };
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  /** Returns the task, or undefined when the server does not say now how it is. */
  const look = async (): Promise<Members | undefined> => {
    const overdue = Promise.withResolvers<undefined>();
    const timer = setTimeout(overdue.resolve, lookMsMax, undefined).unref();
    const asked = request('tasks/get', { taskId }).catch(() => undefined);
    const reply = await Promise.race([asked, overdue.promise]);
    clearTimeout(timer);
    // The attack, or the mistake: a server tells the end of the task of another call.
    if (reply !== undefined && 'result' in reply && (reply.result['taskId'] ?? taskId) === taskId) {
      heardAt = Date.now();
      return reply.result;
    }
    if (reply !== undefined && 'error' in reply && finalErrors.includes(reply.error.code))
      throw lost(reply.error.message);
    if (Date.now() - heardAt > silenceMsMax) throw lost('the MCP server does not say how its task is');
    return undefined;
  };
  const follow = async (): Promise<Reply> => {
    let pauseMs = pauseMsOf(created);
    // The result that makes a task has neither its end nor its questions, also in another state.
    if (created['status'] === 'working') await pause(pauseMs);
    while (!isClosed()) {
      if (isGiven) return given.promise;
      const task = await look();
      const end = task && endOf(task);
      if (end !== undefined) return end;
      if (task !== undefined) {
        answerAll(task);
        pauseMs = pauseMsOf(task);
      }
      if (Date.now() - cancelledAt > cancelMsMax)
        throw lost('the MCP server has not ended its task after its cancellation');
      await pause(pauseMs);
    }
    throw lost('the connection to the MCP server has ended');
  };
  const cancel = (): void => {
    cancelledAt = Math.min(cancelledAt, Date.now());
    tell('tasks/cancel');
  };
  return { end: Promise.race([follow(), given.promise]), cancel };
}

function pauseMsOf({ pollIntervalMs }: Members): number {
  const ms = typeof pollIntervalMs === 'number' ? pollIntervalMs : pauseMsDefault;
  return Math.min(Math.max(ms, pauseMsMin), pauseMsMax) || pauseMsDefault;
}

function endOf({ status, result, error }: Members): Reply | undefined {
  if (status === 'completed') return { result: { ...objectOf(result) } };
  if (status === 'cancelled') return failed(ErrorCode.InternalError, 'The MCP server has cancelled its task');
  if (status !== 'failed') return undefined;
  const { code, message } = objectOf(error);
  const isError = isObject(error) && typeof code === 'number' && typeof message === 'string';
  return isError ? failed(code, message) : failed(ErrorCode.InternalError, 'The task of the MCP server has failed');
}

/** Not a `NotSentError`, also when the server cannot be reached: the tool runs. */
function lost(cause: string): ConnectionLostError {
  return new ConnectionLostError(cause);
}
