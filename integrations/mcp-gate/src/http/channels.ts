import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  StreamableHTTPServerTransport,
  type StreamableHTTPServerTransportOptions,
} from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isJSONRPCRequest, type RequestId } from '@modelcontextprotocol/sdk/types.js';
import { HttpRefusal } from './http-request.js';

/** A request over HTTP with its body, and its response. */
export interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: unknown;
}

/**
 * One response of a session, on a transport of its own: equal ids of two requests never meet. The gate keeps no events, so a
 * response that closes before its end has delivered nothing.
 */
export interface Channel {
  readonly transport: StreamableHTTPServerTransport;
  /** The ids of the client whose replies it still carries. */
  readonly wanted: Set<RequestId>;
  /** Resolves when the response has closed, to whether the client got all of it. */
  readonly finished: Promise<boolean>;
}

/** The open responses of a session. */
export interface Channels {
  /** Rejects with an `HttpRefusal` when another open response carries one of the ids, or is the event stream too. */
  readonly open: (exchange: HttpExchange, options: StreamableHTTPServerTransportOptions) => Promise<Channel>;
  /** Returns the event stream of the client. */
  readonly stream: () => Channel | undefined;
  readonly close: () => Promise<void>;
}

/** A client that leaves a response may use its ids again a moment before the gate sees that it has left. */
const leavingMsMax = 250;

export function createChannels(): Channels {
  const channels = new Set<Channel>();
  let stream: Channel | undefined;

  /** Returns the response that is in the way of another request, and the refusal of that request. */
  const obstacleTo = ({ request, body }: HttpExchange): { channel: Channel; refusal: HttpRefusal } | undefined => {
    if (request.method === 'GET') {
      return stream && { channel: stream, refusal: new HttpRefusal(409, 'the session has an open event stream') };
    }
    for (const id of idsOf(body)) {
      const channel = [...channels].find(({ wanted }) => wanted.has(id));
      if (channel !== undefined) return { channel, refusal: idInUse(id) };
    }
    return undefined;
  };
  const untilFree = async (exchange: HttpExchange): Promise<void> => {
    const { promise: overdue, resolve } = Promise.withResolvers<undefined>();
    // After the timer the gate reads once more what has come: a slow machine may not have read that the client has left.
    const timer = setTimeout(() => setImmediate(resolve, undefined), leavingMsMax);
    const waited = { isOver: false };
    void overdue.then(() => (waited.isOver = true));
    try {
      for (let found = obstacleTo(exchange); found !== undefined; found = obstacleTo(exchange)) {
        if (waited.isOver) throw found.refusal;
        await Promise.race([found.channel.finished, overdue]);
      }
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    open: async (exchange, options) => {
      const { request, response, body } = exchange;
      const ids = idsOf(body);
      const wanted = new Set(ids);
      const repeated = ids.find((id, index) => ids.indexOf(id) < index);
      if (repeated !== undefined) throw idInUse(repeated);
      if (obstacleTo(exchange) !== undefined) await untilFree(exchange);
      const channel: Channel = {
        ...{ transport: new StreamableHTTPServerTransport(options), wanted, finished: untilClosed(response) },
      };
      channels.add(channel);
      if (request.method === 'GET') stream = channel;
      void channel.finished.then(() => {
        channels.delete(channel);
        if (stream === channel) stream = undefined;
      });
      return channel;
    },
    stream: () => stream,
    close: async () => {
      await Promise.all([...channels].map(({ transport }) => transport.close()));
    },
  };
}

function idInUse(id: RequestId): HttpRefusal {
  return new HttpRefusal(400, `the id ${JSON.stringify(id)} is in use`);
}

function idsOf(body: unknown): readonly RequestId[] {
  return [body]
    .flat()
    .filter(isJSONRPCRequest)
    .map(({ id }) => id);
}

/** Resolves to whether the whole response was sent. */
function untilClosed(response: ServerResponse): Promise<boolean> {
  return new Promise((resolve) => {
    const closed = (): void => {
      resolve(response.writableFinished);
    };
    if (response.destroyed) closed();
    else response.once('close', closed);
  });
}
