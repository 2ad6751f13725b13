import { randomUUID } from 'node:crypto';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { isReply, type Reply, type Wire } from '../wire.js';

/** The connection to the inner server ended, so the end of a request is not known. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
}

/** A request that the inner server has certainly not got, or has refused without reading it. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
}

/** A request of the gate itself to the inner server. */
export interface InnerRequest {
  /** Rejects with a `ConnectionLostError`, or with a `NotSentError`. */
  readonly reply: Promise<Reply>;
  /** Tells the inner server that the result is no longer wanted. */
  readonly cancel: (reason: string) => void;
}

/** The gate's own requests to the inner server. It sends them in addition to the messages that it passes on. */
export interface InnerRequests {
  /** @param onTask the server may make the request a task, and this is called when it does. Default: it may not. */
  readonly send: (method: string, params: Readonly<Record<string, unknown>>, onTask?: () => void) => InnerRequest;
  /** The server makes tasks of some requests, which take long. */
  readonly makesTasks: () => boolean;
  /** Takes a message that answers one of these requests; returns whether it was one. */
  readonly take: (message: JSONRPCMessage) => boolean;
  /** Ends all requests. */
  readonly lose: (reason: string) => void;
}

export function createInnerRequests(server: Pick<Wire, 'send' | 'acceptTask' | 'makesTasks'>): InnerRequests {
  // A client that could guess these ids could make the gate take an answer that is not for it.
  const prefix = `countersign-${randomUUID()}-`;
  const open = new Map<string, { resolve: (reply: Reply) => void; reject: (error: Error) => void }>();
  let sent = 0;
  let isLost = false;
  return {
    send: (method, params, onTask) => {
      const id = `${prefix}${String((sent += 1))}`;
      const reply = new Promise<Reply>((resolve, reject) => {
        if (isLost) reject(new NotSentError('the MCP server has ended'));
        else open.set(id, { resolve, reject });
      });
      reply.catch(() => undefined);
      const fail = (error: unknown): void => {
        open.get(id)?.reject(error instanceof NotSentError ? error : lostBy(error));
        open.delete(id);
      };
      if (onTask !== undefined) server.acceptTask?.(id, onTask);
      if (!isLost) server.send({ jsonrpc: '2.0', id, method, params }).catch(fail);
      const cancel = (reason: string): void => {
        if (!open.has(id)) return;
        const params = { requestId: id, reason };
        server.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }).catch(() => undefined);
      };
      return { reply, cancel };
    },
    makesTasks: () => server.makesTasks?.() === true,
    take: (message) => {
      if (!isReply(message)) return false;
      const request = typeof message.id === 'string' ? open.get(message.id) : undefined;
      if (request === undefined || typeof message.id !== 'string') return false;
      open.delete(message.id);
      request.resolve('error' in message ? { error: message.error } : { result: message.result });
      return true;
    },
    lose: (reason) => {
      isLost = true;
      for (const { reject } of open.values()) reject(new ConnectionLostError(reason));
      open.clear();
    },
  };
}

function lostBy(error: unknown): ConnectionLostError {
  return new ConnectionLostError(error instanceof Error ? error.message : String(error));
}
