import { randomUUID } from 'node:crypto';
import {
  ErrorCode,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import { cancelledBy, isReply, objectOf, responseOf, type Reply, type Wire } from '../wire.js';
import { createInnerListening } from './inner-listening.js';
import { createInputs } from './inner-inputs.js';
import { isStatelessMethod, metaNames } from './protocol.js';
import { failed } from './request-facts.js';
import { createServedRequests } from './served-requests.js';
import { replyIn } from './stateless-results.js';

type Members = Readonly<Record<string, unknown>>;

/** A server of stateless requests, as one that makes sessions. */
export interface StatelessServer {
  /** Takes a message for the server. Rejects as the wire does when a request cannot be sent, or gets no response. */
  readonly send: (message: JSONRPCMessage) => Promise<void>;
  readonly fromServer: (message: JSONRPCMessage) => void;
  readonly close: () => void;
}

/** How the gate speaks to such a server. */
export interface StatelessServerPorts {
  readonly inner: Pick<Wire, 'send'>;
  readonly toClient: (message: JSONRPCMessage) => void;
  /** The members of `_meta` of each request. */
  readonly envelope: Members;
  /** The client is stateless too: it reads every result of the version. */
  readonly isForStateless: boolean;
  readonly capabilities: Members;
}

export function createStatelessServer(ports: StatelessServerPorts): StatelessServer {
  const { inner, toClient, envelope, isForStateless, capabilities } = ports;
  const prefix = `countersign-${randomUUID()}-`;
  let count = 0;
  const newId = (): string => `${prefix}${String((count += 1))}`;
  let logLevel: string | undefined;
  const own = new Map<RequestId, (reply: Reply) => void>();

  const sendRequest = (id: RequestId, method: string, params: Members): Promise<void> => {
    const level = logLevel === undefined ? {} : { [metaNames.logLevel]: logLevel };
    const meta = { ...objectOf(params['_meta']), ...envelope, ...level };
    return inner.send({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } });
  };
  const list = async (): Promise<void> => {
    const id = newId();
    const { promise, resolve } = Promise.withResolvers<Reply>();
    own.set(id, resolve);
    await Promise.all([sendRequest(id, 'tools/list', {}), promise]);
  };
  const listening = createInnerListening({ capabilities, sendRequest, send: inner.send.bind(inner), toClient });
  const inputs = createInputs(toClient);
  const served = createServedRequests({ newId, sendRequest, list, toClient, inputs, isForStateless });

  /** Returns whether a request is one of a session that a stateless server does not have. */
  const answersHere = ({ method, params }: JSONRPCRequest): boolean => {
    const isSubscription = method === 'resources/subscribe' || method === 'resources/unsubscribe';
    if (method === 'logging/setLevel') logLevel = String(params?.['level']);
    if (isSubscription) listening.watch(String(params?.['uri']), method === 'resources/subscribe');
    return isSubscription || method === 'logging/setLevel' || method === 'ping';
  };
  const serve = async (request: JSONRPCRequest): Promise<void> => {
    const { id, method } = request;
    if (answersHere(request)) toClient(responseOf(id, { result: {} }));
    else if (isStatelessMethod(method)) await served.serve(request);
    else toClient(responseOf(id, failed(ErrorCode.MethodNotFound, `Method not found: ${method}`)));
  };
  const cancel = async (cancelled: RequestId): Promise<void> => {
    const requestId = served.cancel(cancelled);
    if (requestId === undefined) return;
    await inner.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
  };
  return {
    send: async (message) => {
      const cancelled = cancelledBy(message);
      if (isJSONRPCRequest(message)) await serve(message);
      else if (isReply(message)) inputs.take(message);
      else if (cancelled !== undefined) await cancel(cancelled);
      else if ('method' in message && message.method === 'notifications/initialized') listening.begin();
    },
    fromServer: (message) => {
      if (listening.take(message) || isJSONRPCRequest(message)) return;
      const reply = replyIn(message);
      const id = 'id' in message ? message.id : undefined;
      if (reply === undefined || id === undefined) {
        toClient(message);
        return;
      }
      own.get(id)?.(reply);
      own.delete(id);
      served.settle(id, reply);
    },
    close: listening.close,
  };
}
