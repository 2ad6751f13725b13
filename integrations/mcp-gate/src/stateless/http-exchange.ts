import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { ErrorCode, type JSONRPCMessage, type RequestId } from '@modelcontextprotocol/sdk/types.js';
import { responseOf, type Reply } from '../wire.js';
import type { Exchange } from './exchange.js';
import { isReservedError } from './protocol.js';

/** A stream without a message for this time gets a comment, so that nothing between the two sides ends it. */
const silenceMsMax = 15_000;

/** A request over HTTP: its response is JSON, or an event stream once something else is sent before the reply. */
export function createHttpExchange(id: RequestId, headers: IncomingHttpHeaders, response: ServerResponse): Exchange {
  const { promise: delivered, resolve } = Promise.withResolvers<boolean>();
  let keepAlive: NodeJS.Timeout | undefined;
  response.once('close', () => {
    clearInterval(keepAlive);
    resolve(response.writableFinished);
  });
  const send = (message: JSONRPCMessage): void => {
    if (!response.headersSent) {
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
      });
      keepAlive = setInterval(() => response.write(': \n\n'), silenceMsMax).unref();
    }
    response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  };
  return {
    ...{ id, headers, delivered },
    notify: (message) => {
      if (!response.writableEnded && !response.destroyed) send(message);
    },
    reply: (reply) => {
      if (response.writableEnded || response.destroyed) return;
      if (response.headersSent) {
        send(responseOf(id, reply));
        response.end();
      } else sendReply(response, id, reply, statusOf(reply));
    },
  };
}

/** Sends a reply as JSON. */
export function sendReply(response: ServerResponse, id: RequestId | null, reply: Reply, status: number): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, ...reply }));
}

const methodNotFound: number = ErrorCode.MethodNotFound;

function statusOf(reply: Reply): number {
  if (!('error' in reply)) return 200;
  if (reply.error.code === methodNotFound) return 404;
  return isReservedError(reply.error.code) ? 400 : 200;
}
