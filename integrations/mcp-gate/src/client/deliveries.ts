import type { ServerResponse } from 'node:http';
import { isJSONRPCRequest, type JSONRPCMessage, type RequestId } from '@modelcontextprotocol/sdk/types.js';
import { cancelledBy, isObject } from '../wire.js';

/** Tells whether the replies of the gate reach the client. */
export interface Deliveries {
  /**
   * Resolves to whether the client got the reply to a request; to false as soon as the client is known to have left.
   *
   * @param sent resolves to true when the reply is handed to the wire, and to false when there will be none.
   */
  readonly of: (id: RequestId, sent: Promise<boolean>) => Promise<boolean>;
  /** The client reads messages that belong to none of its requests. */
  readonly hasStream: () => boolean;
}

/** For a wire that ends with its client, such as stdin and stdout: a reply that is sent has arrived. */
export const deliveredWhenSent: Deliveries = { of: (_, sent) => sent, hasStream: () => true };

/** The deliveries of one session over HTTP. */
export interface HttpDeliveries extends Deliveries {
  /**
   * MUST be called before the transport gets the body: the replies to its requests travel in this response. A response
   * without a body is the client's event stream.
   */
  readonly follow: (body: unknown, response: ServerResponse) => void;
  /** Ends the responses to the requests that the body cancels: no reply comes, and a client may use the ids again. */
  readonly cancel: (body: unknown) => void;
  /** Returns an id of the body that an open request has, or that the body has twice. */
  readonly usedId: (body: unknown) => RequestId | undefined;
}

/**
 * A client may drop its request at any time, and the transport then drops the reply without a word. The gate keeps no
 * events, so a client cannot resume the stream either: a response that closes before its end has delivered nothing.
 */
export function createHttpDeliveries(): HttpDeliveries {
  const open = new Map<RequestId, OpenReply>();
  const streams = new Set<ServerResponse>();
  return {
    of: (id) => open.get(id)?.delivered ?? Promise.resolve(false),
    hasStream: () => streams.size > 0,
    follow: (body, response) => {
      const finished = untilClosed(response);
      const wanted = new Set(idsOf(body));
      for (const id of wanted) {
        const { promise: cancelled, resolve } = Promise.withResolvers<boolean>();
        const reply: OpenReply = {
          delivered: Promise.race([finished, cancelled]),
          cancel: () => {
            resolve(false);
            open.delete(id);
            wanted.delete(id);
            if (wanted.size === 0) response.end();
          },
        };
        open.set(id, reply);
        void finished.then(() => {
          if (open.get(id) === reply) open.delete(id);
        });
      }
      if (body === undefined) streams.add(response);
      void finished.then(() => streams.delete(response));
    },
    cancel: (body) => {
      for (const message of [body].flat().filter(isObject)) {
        const id = cancelledBy(message as JSONRPCMessage);
        if (id !== undefined) open.get(id)?.cancel();
      }
    },
    usedId: (body) => idsOf(body).find((id, index, ids) => open.has(id) || ids.indexOf(id) < index),
  };
}

/** A reply that has not reached the client. */
interface OpenReply {
  readonly delivered: Promise<boolean>;
  readonly cancel: () => void;
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
