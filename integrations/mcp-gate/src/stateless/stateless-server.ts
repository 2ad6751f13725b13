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
import { extensionNames, isStatelessMethod, isTaskMethod, metaNames } from './protocol.js';
import { failed, takesTasks } from './request-facts.js';
import { createServedRequests, type SendRequest } from './served-requests.js';
import { replyIn } from './stateless-results.js';

type Members = Readonly<Record<string, unknown>>;

/** A server of stateless requests, as one that makes sessions. */
export interface StatelessServer {
  /** Takes a message for the server. Rejects as the wire does when a request cannot be sent, or gets no response. */
  readonly send: (message: JSONRPCMessage) => Promise<void>;
  readonly fromServer: (message: JSONRPCMessage) => void;
  readonly acceptTask: Required<Wire>['acceptTask'];
  readonly makesTasks: () => boolean;
  /** The client begins again. Its open requests go on. */
  readonly agree: (agreement: Agreement) => void;
  readonly close: () => void;
}

/** The two sides. */
export interface StatelessServerPorts {
  readonly inner: Pick<Wire, 'send'>;
  readonly toClient: (message: JSONRPCMessage) => void;
}

/** How the gate speaks to such a server. */
export interface Agreement {
  /** The members of `_meta` of each request. */
  readonly envelope: Members;
  /** The client is stateless too: it reads every result of the version. */
  readonly isForStateless: boolean;
  readonly capabilities: Members;
}

export function createStatelessServer({ inner, toClient }: StatelessServerPorts, first: Agreement): StatelessServer {
  let agreed = first;
  const prefix = `countersign-${randomUUID()}-`;
  let count = 0;
  const newId = (): string => `${prefix}${String((count += 1))}`;
  let logLevel: string | undefined;
  const own = new Map<RequestId, (reply: Reply) => void>();

  const sendRequest: SendRequest = (id, method, params, takesTask = false) => {
    const level = logLevel === undefined ? {} : { [metaNames.logLevel]: logLevel };
    const { envelope } = agreed;
    const meta = { ...objectOf(params['_meta']), ...envelope, ...level, ...(takesTask ? withTasks(envelope) : {}) };
    return inner.send({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } });
  };
  const request = async (method: string, params: Members = {}): Promise<Reply> => {
    const id = newId();
    const { promise, resolve } = Promise.withResolvers<Reply>();
    own.set(id, resolve);
    const [, reply] = await Promise.all([sendRequest(id, method, params, isTaskMethod(method)), promise]);
    return reply;
  };
  const listen = ({ capabilities }: Agreement) =>
    createInnerListening({ capabilities, sendRequest, send: inner.send.bind(inner), toClient });
  let listening = listen(first);
  const inputs = createInputs(toClient);
  const accepted = new Map<RequestId, () => void>();
  let isClosed = false;
  const served = createServedRequests({
    ...{ newId, sendRequest, request, toClient, inputs },
    isForStateless: () => agreed.isForStateless,
    onTaskOf: (id) => accepted.get(id),
    isClosed: () => isClosed,
  });

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
    else if (isStatelessMethod(method)) await served.serve(request).finally(() => accepted.delete(id));
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
    makesTasks: () => takesTasks(agreed.capabilities),
    acceptTask: (requestId, onTask) => void accepted.set(requestId, onTask),
    agree: (agreement) => {
      listening.close();
      agreed = agreement;
      listening = listen(agreement);
    },
    close: () => {
      isClosed = true;
      listening.close();
    },
  };
}

/** The request may become a task, whatever the capabilities of the client are: the gate follows it. */
function withTasks(envelope: Members): Members {
  const capabilities = objectOf(envelope[metaNames.capabilities]);
  const extensions = { ...objectOf(capabilities['extensions']), [extensionNames.tasks]: {} };
  return { [metaNames.capabilities]: { ...capabilities, extensions } };
}
