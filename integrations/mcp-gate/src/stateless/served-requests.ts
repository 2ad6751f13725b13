import { sleepOrThrow, systemClock } from '@countersign/contracts/clock';
import {
  ErrorCode,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import { objectOf, responseOf, type Reply } from '../wire.js';
import type { Inputs } from './inner-inputs.js';
import { readableResult } from './older-results.js';
import { roundMethods, statelessErrors } from './protocol.js';
import { failed } from './request-facts.js';
import { followTask, type ServedTask } from './served-task.js';

type Members = Readonly<Record<string, unknown>>;

/** The requests of the client at a stateless server, each through all of its rounds. */
export interface ServedRequests {
  /** Resolves when the request has its reply. Rejects as the wire does when a round cannot be sent, or gets no response. */
  readonly serve: (request: JSONRPCRequest) => Promise<void>;
  /** Takes the reply to a round. */
  readonly settle: (roundId: RequestId, reply: Reply) => void;
  /**
   * Returns the id of the round that is open, for the cancellation of a request. A request between two rounds ends with an
   * error: the server must not get another round.
   */
  readonly cancel: (requestId: RequestId) => RequestId | undefined;
}

/** Sends a request. With `takesTask` the server may make it a task. */
export type SendRequest = (id: RequestId, method: string, params: Members, takesTask?: boolean) => Promise<void>;

/** The dependencies of these requests. */
export interface ServedRequestPorts {
  readonly newId: () => string;
  readonly sendRequest: SendRequest;
  /** Makes a request of the gate itself. */
  readonly request: (method: string, params?: Members) => Promise<Reply>;
  /** Returns what to call when the server makes a request of the client a task; undefined for one that it must not. */
  readonly onTaskOf: (requestId: RequestId) => (() => void) | undefined;
  readonly isClosed: () => boolean;
  readonly toClient: (message: JSONRPCMessage) => void;
  readonly inputs: Inputs;
  readonly isForStateless: () => boolean;
}

interface ServedRequest {
  readonly request: JSONRPCRequest;
  /** The id of the round that is open now. */
  roundId: RequestId;
  rounds: number;
  /** What the server has made of it. */
  task: ServedTask | undefined;
  /** Aborts when the client has cancelled the request. */
  readonly cancelling: AbortController;
  readonly ended: PromiseWithResolvers<undefined>;
}

/** A server that wants more rounds asks for ever. */
const roundsMax = 16;
/** A round without a question is one that the server wants to handle later. */
const pauseMs = 1_000;

export function createServedRequests(ports: ServedRequestPorts): ServedRequests {
  const { newId, sendRequest, request, onTaskOf, toClient, inputs, isForStateless } = ports;
  /** By the id of the round that is open. */
  const open = new Map<RequestId, ServedRequest>();
  /** By the id of the client's request. */
  const all = new Map<RequestId, ServedRequest>();

  /** A later round may have run the tool too: when it is lost, the outcome is not known. */
  const sendRound = (one: ServedRequest, more: Members = {}): void => {
    one.rounds += 1;
    one.roundId = newId();
    open.set(one.roundId, one);
    const { id, method, params } = one.request;
    const takesTask = method === 'tools/call' && onTaskOf(id) !== undefined;
    sendRequest(one.roundId, method, { ...params, ...more }, takesTask).catch((error: unknown) => {
      open.delete(one.roundId);
      one.ended.reject(error);
    });
  };
  const end = ({ request, ended }: ServedRequest, reply: Reply): void => {
    toClient(responseOf(request.id, reply));
    ended.resolve(undefined);
  };
  const goOn = async (one: ServedRequest, result: Members): Promise<void> => {
    try {
      sendRound(one, await answersTo(one, result, ports));
    } catch (error) {
      end(one, failed(ErrorCode.InternalError, error instanceof Error ? error.message : String(error)));
    }
  };
  const follow = async (one: ServedRequest, created: Members, onTask: () => void): Promise<void> => {
    const ask = (key: string, question: unknown) =>
      inputs.ask([[key, question]], { token: tokenOf(one), isForStateless: isForStateless() });
    one.task = followTask({ request, ask, isClosed: ports.isClosed }, created);
    open.set(one.roundId, one);
    onTask();
    try {
      const reply = await one.task.end;
      end(one, 'error' in reply ? reply : { result: readableResult('tools/call', reply.result, isForStateless()) });
    } catch (error) {
      one.ended.reject(error);
    } finally {
      open.delete(one.roundId);
    }
  };
  const goOnWith = (one: ServedRequest, result: Members): void => {
    const { id, method } = one.request;
    const { resultType: type = 'complete' } = result;
    const onTask = method === 'tools/call' ? onTaskOf(id) : undefined;
    if (type === 'input_required') void goOn(one, result);
    else if (type === 'task' && isTask(result) && onTask !== undefined) void follow(one, result, onTask);
    else if (type === 'complete') end(one, { result: readableResult(method, result, isForStateless()) });
    else end(one, failed(ErrorCode.InternalError, unknownType(type)));
  };
  /** The headers did not repeat the arguments, so the server has not run the tool. */
  const goOnWithHeaders = async (one: ServedRequest, refused: Reply): Promise<void> => {
    try {
      // Then the wire knows the arguments that headers repeat.
      await request('tools/list');
    } catch {
      end(one, refused);
      return;
    }
    sendRound(one);
  };
  return {
    serve: (asked) => {
      const ended = Promise.withResolvers<undefined>();
      const cancelling = new AbortController();
      const one: ServedRequest = { request: asked, roundId: asked.id, rounds: 0, task: undefined, cancelling, ended };
      all.set(asked.id, one);
      sendRound(one);
      return ended.promise.finally(() => all.delete(asked.id));
    },
    settle: (roundId, reply) => {
      const one = open.get(roundId);
      if (one === undefined || one.task !== undefined) return;
      open.delete(roundId);
      if ('error' in reply) {
        if (reply.error.code === statelessErrors.headerMismatch && one.rounds === 1) void goOnWithHeaders(one, reply);
        else end(one, reply);
        return;
      }
      goOnWith(one, reply.result);
    },
    cancel: (requestId) => {
      const one = all.get(requestId);
      if (one === undefined) return undefined;
      one.cancelling.abort(new Error('the client has cancelled the request'));
      if (one.task === undefined) return open.has(one.roundId) ? one.roundId : undefined;
      // The cancellation of a request does not cancel its task.
      one.task.cancel();
      return undefined;
    },
  };
}

/** Returns what the next round carries. */
async function answersTo(
  one: ServedRequest,
  { inputRequests, requestState }: Members,
  { inputs, isForStateless }: Pick<ServedRequestPorts, 'inputs' | 'isForStateless'>,
): Promise<Members> {
  if (!roundMethods.includes(one.request.method) || one.rounds >= roundsMax) {
    throw new Error('the MCP server asks without end');
  }
  const questions = Object.entries(objectOf(inputRequests));
  const { signal } = one.cancelling;
  if (questions.length === 0) await sleepOrThrow(systemClock, pauseMs, signal);
  const asking = { token: tokenOf(one), isForStateless: isForStateless(), signal };
  const inputResponses = await inputs.ask(questions, asking);
  signal.throwIfAborted();
  return {
    ...(questions.length === 0 ? {} : { inputResponses }),
    ...(typeof requestState === 'string' ? { requestState } : {}),
  };
}

function unknownType(type: unknown): string {
  return `the MCP server gave a result of the type ${JSON.stringify(type)}, which the gate does not know`;
}

function tokenOf({ request }: ServedRequest): unknown {
  return objectOf(request.params?.['_meta'])['progressToken'];
}

function isTask({ taskId }: Members): boolean {
  return typeof taskId === 'string';
}
