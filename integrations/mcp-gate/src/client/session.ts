import type { TransportSendOptions } from '@modelcontextprotocol/sdk/shared/transport.js';
import { isJSONRPCRequest, isJSONRPCResultResponse, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { deliveredWhenSent, type Deliveries } from './deliveries.js';
import { cancelledBy, isReply, objectOf, type Wire } from '../wire.js';

/** The facts about the two sides that the gate has read from the messages that it passed on. */
export interface Session {
  readonly fromClient: (message: JSONRPCMessage) => void;
  readonly fromServer: (message: JSONRPCMessage) => void;
  /**
   * Returns a message of the server as the client gets it: a reply has the client's own id, also when the server writes a
   * number as a string. Returns undefined for a reply to no open request.
   */
  readonly expected: (message: JSONRPCMessage) => JSONRPCMessage | undefined;
  readonly answered: (id: string | number | undefined) => void;
  /** The request has no reply yet. */
  readonly isOpen: (id: string | number) => boolean;
  /** Returns whether an expected message answers a `tools/list` of the client. */
  readonly lists: (message: JSONRPCMessage) => boolean;
  /** A request of the client for a tool has no reply yet. */
  readonly hasOpenCall: () => boolean;
  readonly openIds: () => readonly (string | number)[];
  /**
   * Resolves to whether a session has begun, as soon as `initialize` has its reply; to false when the signal aborts before.
   */
  readonly begun: (signal: AbortSignal) => Promise<boolean>;
  /** The client opens addresses for its user. */
  readonly opensUrls: () => boolean;
  /** The name of the server, for the policy and the approvers. */
  readonly labels: () => Readonly<Record<string, string>>;
  /**
   * Over HTTP a message travels on the stream of the request that it belongs to. Returns undefined for a request of the
   * server that no stream of the client can carry.
   */
  readonly relatedTo: (message: JSONRPCMessage) => TransportSendOptions | undefined;
}

interface OpenRequest {
  readonly method: string;
  readonly progressToken: unknown;
  readonly cancel: () => void;
  isCancelled: boolean;
}

/** While one of these requests is open, a tool may run, and the server asks for it. */
const ofTools = ['tools/call', 'tasks/result'];

/** @param deliveries tells which requests have lost their client. Default: none. */
export function createSession(
  server: Pick<Wire, 'setProtocolVersion'>,
  deliveries: Deliveries = deliveredWhenSent,
): Session {
  let opensUrls = false;
  let serverName: string | undefined;
  let initializeId: string | number | undefined;
  let hasBegun = false;
  let beginning: PromiseWithResolvers<void> | undefined;
  /** Open requests of the client, the latest last. */
  const open = new Map<string | number, OpenRequest>();

  const forget = (id: string | number): void => {
    open.delete(id);
    if (id !== initializeId) return;
    beginning?.resolve();
    beginning = undefined;
  };
  /** A request without a client may never have a reply. */
  const add = (id: string | number, method: string, params: Readonly<Record<string, unknown>>): void => {
    const { promise: cancelled, resolve } = Promise.withResolvers<boolean>();
    const cancel = (): void => {
      request.isCancelled = true;
      resolve(false);
    };
    const { progressToken } = objectOf(params['_meta']);
    const request: OpenRequest = { method, progressToken, cancel, isCancelled: false };
    open.set(id, request);
    void deliveries.of(id, cancelled).then(() => {
      if (open.get(id) === request) forget(id);
    });
  };
  /** The request of the client whose stream carries a request of the server, the latest first. */
  const carrier = (): string | number | undefined => {
    const wanted = [...open].filter(([, { isCancelled }]) => !isCancelled).reverse();
    const ofTool = wanted.find(([, { method }]) => ofTools.includes(method));
    return (ofTool ?? (deliveries.hasStream() ? undefined : wanted[0]))?.[0];
  };
  return {
    fromClient: (message) => {
      const cancelled = cancelledBy(message);
      if (cancelled !== undefined) open.get(cancelled)?.cancel();
      if (!isJSONRPCRequest(message)) return;
      const params = objectOf(message.params);
      add(message.id, message.method, params);
      if (message.method !== 'initialize') return;
      initializeId = message.id;
      beginning ??= Promise.withResolvers();
      const { elicitation } = objectOf(params['capabilities']);
      opensUrls = 'url' in objectOf(elicitation);
    },
    fromServer: (message) => {
      if (!isJSONRPCResultResponse(message) || message.id !== initializeId) return;
      hasBegun = true;
      const { protocolVersion, serverInfo } = message.result;
      if (typeof protocolVersion === 'string') server.setProtocolVersion?.(protocolVersion);
      const { name } = objectOf(serverInfo);
      if (typeof name === 'string') serverName = name.slice(0, 256).toWellFormed();
    },
    expected: (message) => {
      if (!isReply(message) || message.id === undefined || open.has(message.id)) return message;
      // The attack: clients take the id "1", "01" or "0x1" for 1, under which a call may wait here.
      const id = Number(message.id);
      return open.has(id) && String(id) === message.id ? { ...message, id } : undefined;
    },
    answered: (id) => {
      if (id !== undefined) forget(id);
    },
    isOpen: (id) => open.has(id),
    lists: (message) => isReply(message) && message.id !== undefined && open.get(message.id)?.method === 'tools/list',
    hasOpenCall: () => [...open.values()].some(({ method }) => ofTools.includes(method)),
    openIds: () => [...open.keys()],
    begun: async (signal) => {
      if (!hasBegun) await Promise.race([beginning?.promise, untilAborted(signal)]);
      return hasBegun;
    },
    opensUrls: () => opensUrls,
    labels: () => (serverName === undefined ? {} : { mcpServer: serverName }),
    relatedTo: (message) => {
      if (isReply(message)) return {};
      const { progressToken } = objectOf(message.params);
      const byToken = [...open].find(
        ([, request]) => request.progressToken !== undefined && isSameToken(request.progressToken, progressToken),
      )?.[0];
      const isRequest = isJSONRPCRequest(message);
      const relatedRequestId = byToken ?? (isRequest ? carrier() : undefined);
      if (relatedRequestId !== undefined) return { relatedRequestId };
      return isRequest && !deliveries.hasStream() ? undefined : {};
    },
  };
}

/** Some servers write a number as a string. */
function isSameToken(token: unknown, written: unknown): boolean {
  return token === written || (typeof token === 'number' && String(token) === written);
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => {
      resolve();
    });
  });
}
