import { isDeepStrictEqual } from 'node:util';
import {
  ErrorCode,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import { failed } from '../stateless/request-facts.js';
import { cancelledBy, isReply, responseOf, type Wire } from '../wire.js';

/**
 * Returns a client on stdin and stdout with one open request under an id at a time. A client reads one reply under an id: of
 * two requests, the result of a tool that ran would be lost, or read as that of the other. An open request that comes once
 * more is dropped: its reply is that of the first. Another request under its id gets an error, and the open one is cancelled.
 */
export function withOwnIds(transport: Wire): Wire {
  const open = new Map<RequestId, JSONRPCRequest>();
  const send: Wire['send'] = async (message, options) => {
    // A reply to a request that was cancelled was on its way.
    if (isReply(message) && message.id !== undefined && !open.delete(message.id)) return;
    await transport.send(message, options);
  };
  const giveUp = (requestId: RequestId): void => {
    const reason = 'the client uses its id for another request';
    const text = `The id ${JSON.stringify(requestId)} is in use by an open request. Both are given up: make each under an id of its own`;
    send(responseOf(requestId, failed(ErrorCode.InvalidRequest, text))).catch(() => undefined);
    wire.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } });
  };
  const take = (message: JSONRPCMessage): void => {
    const cancelled = cancelledBy(message);
    if (cancelled !== undefined) open.delete(cancelled);
    const before = isJSONRPCRequest(message) ? open.get(message.id) : undefined;
    if (before !== undefined) {
      if (!isDeepStrictEqual(before, message)) giveUp(before.id);
      return;
    }
    if (isJSONRPCRequest(message)) open.set(message.id, message);
    wire.onmessage?.(message);
  };
  const wire: Wire = {
    start: async () => {
      transport.onmessage = take;
      transport.onerror = (error) => wire.onerror?.(error);
      transport.onclose = () => wire.onclose?.();
      await transport.start();
    },
    send,
    close: () => transport.close(),
  };
  return wire;
}
