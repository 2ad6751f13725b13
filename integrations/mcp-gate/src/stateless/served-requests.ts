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

type Members = Readonly<Record<string, unknown>>;

/** The requests of the client at a stateless server, each through all of its rounds. */
export interface ServedRequests {
  /** Resolves when the request has its reply. Rejects as the wire does when a round cannot be sent, or gets no response. */
  readonly serve: (request: JSONRPCRequest) => Promise<void>;
  /** Takes the reply to a round. */
  readonly settle: (roundId: RequestId, reply: Reply) => void;
  /** Returns the id of the round that is open, for the cancellation of a request. */
  readonly cancel: (requestId: RequestId) => RequestId | undefined;
}

/** The dependencies of these requests. */
export interface ServedRequestPorts {
  readonly newId: () => string;
  readonly sendRequest: (id: RequestId, method: string, params: Members) => Promise<void>;
  /** Lists the tools, so that the wire knows the arguments that headers repeat. */
  readonly list: () => Promise<unknown>;
  readonly toClient: (message: JSONRPCMessage) => void;
  readonly inputs: Inputs;
  readonly isForStateless: boolean;
}

interface ServedRequest {
  readonly request: JSONRPCRequest;
  /** The id of the round that is open now. */
  roundId: RequestId;
  rounds: number;
  isCancelled: boolean;
  readonly ended: PromiseWithResolvers<undefined>;
}

/** A server that wants more rounds asks for ever. */
const roundsMax = 16;
/** A round without a question is one that the server wants to handle later. */
const pauseMs = 1_000;

export function createServedRequests(ports: ServedRequestPorts): ServedRequests {
  const { newId, sendRequest, list, toClient, inputs, isForStateless } = ports;
  const open = new Map<RequestId, ServedRequest>();

  /** A later round may have run the tool too: when it is lost, the outcome is not known. */
  const sendRound = (one: ServedRequest, more: Members = {}): void => {
    one.rounds += 1;
    one.roundId = newId();
    open.set(one.roundId, one);
    const { method, params } = one.request;
    sendRequest(one.roundId, method, { ...params, ...more }).catch((error: unknown) => {
      open.delete(one.roundId);
      one.ended.reject(error);
    });
  };
  const end = ({ request, ended }: ServedRequest, reply: Reply): void => {
    toClient(responseOf(request.id, reply));
    ended.resolve(undefined);
  };
  /** Returns what the next round carries. */
  const answersTo = async (one: ServedRequest, { inputRequests, requestState }: Members): Promise<Members> => {
    if (!roundMethods.includes(one.request.method) || one.rounds >= roundsMax) {
      throw new Error('the MCP server asks without end');
    }
    const questions = Object.entries(objectOf(inputRequests));
    if (questions.length === 0) await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
    const token = objectOf(one.request.params?.['_meta'])['progressToken'];
    const inputResponses = await inputs.ask(questions, { token, isForStateless });
    if (one.isCancelled) throw new Error('the client has cancelled the request');
    return {
      ...(questions.length === 0 ? {} : { inputResponses }),
      ...(typeof requestState === 'string' ? { requestState } : {}),
    };
  };
  const goOn = async (one: ServedRequest, result: Members): Promise<void> => {
    try {
      sendRound(one, await answersTo(one, result));
    } catch (error) {
      end(one, failed(ErrorCode.InternalError, error instanceof Error ? error.message : String(error)));
    }
  };
  /** The headers did not repeat the arguments, so the server has not run the tool. */
  const goOnWithHeaders = async (one: ServedRequest, refused: Reply): Promise<void> => {
    try {
      await list();
    } catch {
      end(one, refused);
      return;
    }
    sendRound(one);
  };
  return {
    serve: (request) => {
      const ended = Promise.withResolvers<undefined>();
      sendRound({ request, roundId: request.id, rounds: 0, isCancelled: false, ended });
      return ended.promise;
    },
    settle: (roundId, reply) => {
      const one = open.get(roundId);
      if (one === undefined) return;
      open.delete(roundId);
      const { method } = one.request;
      if ('error' in reply) {
        if (reply.error.code === statelessErrors.headerMismatch && one.rounds === 1) void goOnWithHeaders(one, reply);
        else end(one, reply);
        return;
      }
      const { resultType: type = 'complete' } = reply.result;
      if (type === 'input_required') void goOn(one, reply.result);
      else if (type === 'complete') end(one, { result: readableResult(method, reply.result, isForStateless) });
      else end(one, failed(ErrorCode.InternalError, unknownType(type)));
    },
    cancel: (requestId) => {
      const one = [...open.values()].find(({ request }) => request.id === requestId);
      if (one !== undefined) one.isCancelled = true;
      return one?.roundId;
    },
  };
}

function unknownType(type: unknown): string {
  return `the MCP server gave a result of the type ${JSON.stringify(type)}, which the gate does not know`;
}
