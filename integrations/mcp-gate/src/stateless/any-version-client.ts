import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import type { Deliveries } from '../client/deliveries.js';
import { createInnerIds } from '../client/inner-ids.js';
import { withOwnIds } from '../client/own-ids.js';
import { cancelledBy, objectOf, responseOf, type ClientWire, type Reply, type Wire } from '../wire.js';
import type { Exchange } from './exchange.js';
import { metaNames, statelessErrors, statelessVersion } from './protocol.js';
import { failed, namesVersion, withoutEnvelope } from './request-facts.js';
import { createStatelessClient } from './stateless-client.js';

/** A client on stdin and stdout, of any version that the gate speaks. */
export interface AnyVersionClient {
  readonly wire: ClientWire;
  readonly deliveries: Deliveries;
}

/**
 * Returns a client whose first request decides about its version for as long as it is connected, as in the MCP SDK: one
 * that names the version is stateless, and `initialize` begins a session. So the two never mix on one connection.
 */
export function clientOfAnyVersion(onWire: Wire): AnyVersionClient {
  const transport = withOwnIds(onWire);
  let form: 'sessions' | 'stateless' | undefined;
  const exchanges = createExchanges(transport);
  const ids = createInnerIds();
  const toServer = (message: JSONRPCMessage): void => {
    wire.onmessage?.(message);
  };
  const stateless = createStatelessClient({ toServer, isOneClient: true });
  const takeOfSession = (message: JSONRPCMessage): void => {
    const passed = ids.fromClient(namesVersion(message) ? ofSession(message) : message);
    if (passed !== undefined) toServer(passed);
  };
  const takeStateless = (message: JSONRPCMessage): void => {
    const left = exchanges.find(cancelledBy(message));
    if (left !== undefined) {
      exchanges.drop(left);
      stateless.cancel(left);
    }
    if (!isJSONRPCRequest(message)) return;
    const exchange = exchanges.begin(message.id);
    if (message.method === 'initialize') exchange.reply(noSession(message));
    else stateless.take(message, exchange);
  };
  const wire: ClientWire = {
    start: async () => {
      transport.onmessage = (message) => {
        form ??= formOf(message);
        const isOfExchange = exchanges.find(cancelledBy(message)) !== undefined;
        const isQuestion = form === undefined && isJSONRPCRequest(message);
        if (form === 'stateless' || isOfExchange || isQuestion) takeStateless(message);
        else takeOfSession(message);
      };
      transport.onerror = (error) => wire.onerror?.(error);
      transport.onclose = () => wire.onclose?.();
      await transport.start();
    },
    send: async (message, options) => {
      if (form !== 'sessions' || stateless.owns(message)) {
        stateless.fromServer(message);
        return;
      }
      const passed = ids.toClient(message);
      if (passed !== undefined) await transport.send(passed, options);
    },
    close: async () => {
      stateless.end();
      await transport.close();
    },
    roundOf: stateless.roundOf,
  };
  const of: Deliveries['of'] = (id, sent) => stateless.deliveryOf(id) ?? sent;
  return { wire, deliveries: { of, hasStream: () => true } };
}

/**
 * A question for the version, and a request for one that the gate does not speak, decide nothing: some clients give the
 * question up, and begin a session on the same connection.
 */
function formOf(message: JSONRPCMessage): 'sessions' | 'stateless' | undefined {
  if (!isJSONRPCRequest(message) || message.method === 'server/discover') return undefined;
  if (!namesVersion(message)) return 'sessions';
  return objectOf(message.params?._meta)[metaNames.version] === statelessVersion ? 'stateless' : undefined;
}

/**
 * A session has one version. The attack: a server of several versions replies to a request that names another one in a form
 * that its client cannot read.
 */
function ofSession(message: JSONRPCMessage): JSONRPCMessage {
  return 'method' in message ? { ...message, params: withoutEnvelope(objectOf(message.params)) } : message;
}

function noSession({ params }: JSONRPCRequest): Reply {
  const data = { supported: [statelessVersion], requested: params?.['protocolVersion'] };
  return failed(statelessErrors.unsupportedVersion, `This connection has begun with version ${statelessVersion}`, data);
}

interface Exchanges {
  readonly begin: (id: RequestId) => Exchange;
  readonly find: (id: RequestId | undefined) => Exchange | undefined;
  /** The client does not want the reply any more. */
  readonly drop: (exchange: Exchange) => void;
}

function createExchanges(transport: Pick<Wire, 'send'>): Exchanges {
  const open = new Map<RequestId, Exchange>();
  return {
    begin: (id) => {
      const { promise: delivered, resolve } = Promise.withResolvers<boolean>();
      const exchange: Exchange = {
        id,
        delivered,
        notify: (message) => {
          transport.send(message).catch(() => undefined);
        },
        reply: (reply) => {
          if (open.get(id) !== exchange) return;
          open.delete(id);
          transport.send(responseOf(id, reply)).then(
            () => {
              resolve(true);
            },
            () => {
              resolve(false);
            },
          );
        },
      };
      open.set(id, exchange);
      return exchange;
    },
    find: (id) => (id === undefined ? undefined : open.get(id)),
    drop: ({ id }) => open.delete(id),
  };
}
