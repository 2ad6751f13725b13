import {
  isJSONRPCRequest,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCResultResponse,
  type JSONRPCRequest,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import { cancelledBy, isObject, isReply, objectOf } from '../wire.js';

/**
 * The ids of one client. Each request passes on under an id of the gate's own, and its progress under a token of the gate's
 * own. The failure without it: a client leaves a request, and uses its id again. The server's late reply to the first
 * request is then read as the reply to the second one.
 */
export interface InnerIds {
  /** Returns a message of the client with the gate's ids; undefined for the cancellation of no open request. */
  readonly fromClient: (message: JSONRPCMessage) => JSONRPCMessage | undefined;
  /** Returns a message for the client with its own ids; undefined for one that belongs to no request of it. */
  readonly toClient: (message: JSONRPCMessage) => JSONRPCMessage | undefined;
  /** The request gets no reply any more. */
  readonly end: (innerId: RequestId) => void;
}

interface OpenRequest {
  readonly id: RequestId;
  readonly progressToken: unknown;
}

/** A task may tell of its progress after the reply to its request. */
const taskTokensMax = 1_024;

export function createInnerIds(): InnerIds {
  let count = 0;
  const open = new Map<RequestId, OpenRequest>();
  const innerIds = new Map<RequestId, RequestId>();
  const taskTokens = new Map<RequestId, unknown>();

  const end = (innerId: RequestId): void => {
    const request = open.get(innerId);
    open.delete(innerId);
    if (request !== undefined && innerIds.get(request.id) === innerId) innerIds.delete(request.id);
  };
  const keepToken = (innerId: RequestId, token: unknown): void => {
    taskTokens.set(innerId, token);
    const [oldest] = taskTokens.keys();
    if (taskTokens.size > taskTokensMax && oldest !== undefined) taskTokens.delete(oldest);
  };
  const begin = (request: JSONRPCRequest): JSONRPCRequest => {
    const id = (count += 1);
    const { progressToken } = objectOf(request.params?._meta);
    open.set(id, { id: request.id, progressToken });
    innerIds.set(request.id, id);
    if (progressToken === undefined) return { ...request, id };
    return { ...request, id, params: { ...request.params, _meta: { ...request.params?._meta, progressToken: id } } };
  };
  const cancellation = (message: JSONRPCMessage, requestId: RequestId): JSONRPCMessage | undefined => {
    const innerId = innerIds.get(requestId);
    if (innerId === undefined || !('params' in message)) return undefined;
    end(innerId);
    return { ...message, params: { ...message.params, requestId: innerId } };
  };
  const reply = (message: JSONRPCResultResponse | JSONRPCErrorResponse): JSONRPCMessage | undefined => {
    const request = message.id === undefined ? undefined : open.get(message.id);
    if (request === undefined || message.id === undefined) return undefined;
    const isOfTask = 'result' in message && isObject(message.result['task']);
    if (isOfTask) keepToken(message.id, request.progressToken);
    end(message.id);
    return { ...message, id: request.id };
  };
  const progress = (message: JSONRPCNotification): JSONRPCMessage | undefined => {
    // Some servers write the number as a string.
    const token = Number(message.params?.['progressToken']);
    const progressToken = open.get(token)?.progressToken ?? taskTokens.get(token);
    return progressToken === undefined ? undefined : { ...message, params: { ...message.params, progressToken } };
  };
  return {
    fromClient: (message) => {
      if (isJSONRPCRequest(message)) return begin(message);
      const cancelled = cancelledBy(message);
      return cancelled === undefined ? message : cancellation(message, cancelled);
    },
    toClient: (message) => {
      if (isReply(message)) return reply(message);
      return message.method === 'notifications/progress' ? progress(message) : message;
    },
    end,
  };
}
