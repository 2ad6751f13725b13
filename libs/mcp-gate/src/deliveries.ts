import type { ServerResponse } from 'node:http';
import { isJSONRPCRequest, type RequestId } from '@modelcontextprotocol/sdk/types.js';

/** Tells whether the replies of the gate reach the client. */
export interface Deliveries {
  /**
   * Resolves to whether the client got the reply to a request; to false as soon as the client is known to have left.
   *
   * @param sent resolves to true when the reply is handed to the wire, and to false when there will be none.
   */
  readonly of: (id: RequestId, sent: Promise<boolean>) => Promise<boolean>;
}

/** For a wire that ends with its client, such as stdin and stdout: a reply that is sent has arrived. */
export const deliveredWhenSent: Deliveries = { of: (_, sent) => sent };

/** The deliveries of one session over HTTP. */
export interface HttpDeliveries extends Deliveries {
  /** MUST be called before the transport gets the body: the replies to its requests travel in this response. */
  readonly follow: (body: unknown, response: ServerResponse) => void;
}

/**
 * A client may drop its request at any time, and the transport then drops the reply without a word. The gate keeps no
 * events, so a client cannot resume the stream either: a response that closes before its end has delivered nothing.
 */
export function createHttpDeliveries(): HttpDeliveries {
  const open = new Map<RequestId, Promise<boolean>>();
  return {
    of: (id) => open.get(id) ?? Promise.resolve(false),
    follow: (body, response) => {
      const finished = untilClosed(response);
      const ids = [body].flat().filter(isJSONRPCRequest);
      for (const { id } of ids) open.set(id, finished);
      void finished.then(() => {
        for (const { id } of ids) if (open.get(id) === finished) open.delete(id);
      });
    },
  };
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
