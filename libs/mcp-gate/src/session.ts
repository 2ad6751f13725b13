import type { TransportSendOptions } from '@modelcontextprotocol/sdk/shared/transport.js';
import { isJSONRPCRequest, isJSONRPCResultResponse, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { isReply, objectOf, type Wire } from './wire.js';

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
  readonly openIds: () => readonly (string | number)[];
  /** The client opens addresses for its user. */
  readonly opensUrls: () => boolean;
  /** The name of the server, for the policy and the approvers. */
  readonly labels: () => Readonly<Record<string, string>>;
  /** Over HTTP a message travels on the stream of the request that it belongs to. */
  readonly relatedTo: (message: JSONRPCMessage) => TransportSendOptions;
}

interface OpenRequest {
  readonly method: string;
  readonly progressToken: unknown;
}

export function createSession(server: Pick<Wire, 'setProtocolVersion'>): Session {
  let opensUrls = false;
  let serverName: string | undefined;
  let initializeId: string | number | undefined;
  /** Open requests of the client, the latest last. */
  const open = new Map<string | number, OpenRequest>();
  return {
    fromClient: (message) => {
      if (!isJSONRPCRequest(message)) return;
      const params = objectOf(message.params);
      open.set(message.id, { method: message.method, progressToken: objectOf(params['_meta'])['progressToken'] });
      if (message.method !== 'initialize') return;
      initializeId = message.id;
      const { elicitation } = objectOf(params['capabilities']);
      opensUrls = 'url' in objectOf(elicitation);
    },
    fromServer: (message) => {
      if (!isJSONRPCResultResponse(message) || message.id !== initializeId) return;
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
      if (id !== undefined) open.delete(id);
    },
    isOpen: (id) => open.has(id),
    lists: (message) => isReply(message) && message.id !== undefined && open.get(message.id)?.method === 'tools/list',
    openIds: () => [...open.keys()],
    opensUrls: () => opensUrls,
    labels: () => (serverName === undefined ? {} : { mcpServer: serverName }),
    relatedTo: (message) => {
      if (isReply(message)) return {};
      const { progressToken } = objectOf(message.params);
      const byToken = [...open].find(
        ([, request]) => request.progressToken !== undefined && request.progressToken === progressToken,
      )?.[0];
      const relatedRequestId = byToken ?? (isJSONRPCRequest(message) ? [...open.keys()].at(-1) : undefined);
      return relatedRequestId === undefined ? {} : { relatedRequestId };
    },
  };
}
