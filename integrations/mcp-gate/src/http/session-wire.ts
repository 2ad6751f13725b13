import { randomUUID } from 'node:crypto';
import type { StreamableHTTPServerTransportOptions } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  isInitializeRequest,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import type { Deliveries } from '../client/deliveries.js';
import { createInnerIds } from '../client/inner-ids.js';
import { cancelledBy, isReply, type ClientWire } from '../wire.js';
import { createChannels, type Channel, type HttpExchange } from './channels.js';
import { HttpRefusal } from './http-request.js';

/** The client of one session over HTTP. */
export interface SessionWire {
  readonly wire: ClientWire;
  readonly deliveries: Deliveries;
  /**
   * Serves the request that begins the session.
   *
   * @param onBegin gets the id of the session. It is not called for a request that is refused.
   */
  readonly begin: (exchange: HttpExchange, onBegin: (id: string) => void) => Promise<void>;
  /** Serves another request of the session. Rejects with an `HttpRefusal`. */
  readonly serve: (exchange: HttpExchange) => Promise<void>;
}

/** A request that the gate has. */
interface OpenRequest {
  readonly clientId: RequestId;
  readonly channel: Channel;
  /** Resolves to whether the client got the reply; to false as soon as it has cancelled the request. */
  readonly delivered: Promise<boolean>;
  readonly cancel: () => void;
}

export function createSessionWire(): SessionWire {
  const ids = createInnerIds();
  const channels = createChannels();
  const open = new Map<RequestId, OpenRequest>();
  let isClosed = false;

  /** The response ends when each request in it has its reply or is cancelled. The transport waits for a reply to each. */
  const settle = (innerId: RequestId): void => {
    const request = open.get(innerId);
    if (request === undefined) return;
    const { clientId, channel } = request;
    open.delete(innerId);
    ids.end(innerId);
    channel.wanted.delete(clientId);
    if (channel.wanted.size === 0) void channel.transport.close();
  };
  const begun = (innerId: RequestId, clientId: RequestId, channel: Channel): void => {
    const { promise: cancelled, resolve } = Promise.withResolvers<boolean>();
    const delivered = Promise.race([channel.finished, cancelled]);
    const cancel = (): void => {
      resolve(false);
    };
    open.set(innerId, { clientId, channel, delivered, cancel });
    void delivered.then(() => {
      settle(innerId);
    });
  };
  const take = (channel: Channel, message: JSONRPCMessage): void => {
    const passed = ids.fromClient(message);
    if (passed === undefined) return;
    if (isJSONRPCRequest(message) && isJSONRPCRequest(passed)) begun(passed.id, message.id, channel);
    const cancelled = cancelledBy(passed);
    if (cancelled !== undefined) open.get(cancelled)?.cancel();
    wire.onmessage?.(passed);
  };
  const sendReply = async (message: JSONRPCMessage, innerId: RequestId): Promise<void> => {
    const channel = open.get(innerId)?.channel;
    const reply = ids.toClient(message);
    if (channel === undefined || reply === undefined) throw new Error('the MCP client has left the response');
    await channel.transport.send(reply).finally(() => {
      settle(innerId);
    });
  };
  const wire: ClientWire = {
    start: async () => undefined,
    send: async (message, { relatedRequestId } = {}) => {
      if (isReply(message) && message.id !== undefined) {
        await sendReply(message, message.id);
        return;
      }
      const passed = ids.toClient(message);
      if (passed === undefined) return;
      const related = relatedRequestId === undefined ? undefined : open.get(relatedRequestId);
      if (related === undefined) await channels.stream()?.transport.send(passed);
      else await related.channel.transport.send(passed, { relatedRequestId: related.clientId });
    },
    close: async () => {
      isClosed = true;
      await channels.close();
      wire.onclose?.();
    },
  };
  const serve = async (exchange: HttpExchange, options: StreamableHTTPServerTransportOptions): Promise<void> => {
    const { request, response, body } = exchange;
    const channel = await channels.open(exchange, options);
    if (isClosed) throw new HttpRefusal(404, 'the session has ended: begin a new one');
    channel.transport.onmessage = (message) => {
      take(channel, message);
    };
    await channel.transport.handleRequest(request, response, body);
  };
  return {
    wire,
    deliveries: {
      of: (id) => open.get(id)?.delivered ?? Promise.resolve(false),
      hasStream: () => channels.stream() !== undefined,
    },
    begin: (exchange, onBegin) => serve(exchange, { sessionIdGenerator: randomUUID, onsessioninitialized: onBegin }),
    serve: async (exchange) => {
      if (Array.isArray(exchange.body) && exchange.body.length === 0) {
        throw new HttpRefusal(400, 'a batch has at least one message');
      }
      if ([exchange.body].flat().some((message) => isInitializeRequest(message))) {
        throw new HttpRefusal(400, 'the session has begun: begin a new one without its id');
      }
      const end = (): void => {
        isClosed = true;
        wire.onclose?.();
      };
      await serve(exchange, { onsessionclosed: end });
    },
  };
}
