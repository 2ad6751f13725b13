import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCResultResponse,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCResultResponse,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import type { RequestRound } from './stateless/request-round.js';

/** One side of the gate: a transport of the MCP SDK. */
export type Wire = Pick<Transport, 'start' | 'close' | 'setProtocolVersion' | 'onmessage' | 'onclose' | 'onerror'> & {
  readonly send: Transport['send'];
  /** The server goes on after a request that it does not know, also before a session. */
  readonly takesAnyRequest?: boolean;
  /**
   * Called before a request is sent that the server may make a task. The wire follows the task to its end: the request has
   * its reply then.
   *
   * @param onTask called when the server has made it one.
   */
  readonly acceptTask?: (requestId: RequestId, onTask: () => void) => void;
  /** The server makes tasks of some requests. */
  readonly makesTasks?: () => boolean;
};

/** The side of the client. */
export type ClientWire = Wire & {
  /** Returns how the client of a stateless request waits; undefined for any other request. */
  readonly roundOf?: (id: RequestId) => RequestRound | undefined;
};

/** The end of a request: what a JSON-RPC response carries besides its id. */
export type Reply =
  | { readonly result: Record<string, unknown> }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } };

/** The message that carries a reply. */
export function responseOf(id: string | number, reply: Reply): JSONRPCMessage {
  return { jsonrpc: '2.0', id, ...reply };
}

/** Returns whether an error of a transport on stdin and stdout is about one line, which is no JSON-RPC message. */
export function isDroppedLine(error: Error): boolean {
  return error instanceof SyntaxError || error.name === 'ZodError';
}

/** Returns whether a message could not be written because the process has ended: its end is the failure. */
export function isBrokenPipe(error: Error): boolean {
  return 'code' in error && error.code === 'EPIPE';
}

/** Returns whether a message is the end of a request. */
export function isReply(message: JSONRPCMessage): message is JSONRPCResultResponse | JSONRPCErrorResponse {
  return isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
}

/** Returns the id of the request that a message cancels. */
export function cancelledBy(message: JSONRPCMessage): RequestId | undefined {
  if (!isJSONRPCNotification(message) || message.method !== 'notifications/cancelled') return undefined;
  const { requestId } = objectOf(message.params);
  return typeof requestId === 'string' || typeof requestId === 'number' ? requestId : undefined;
}

/** Returns whether a value is an object, and neither an array nor null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value when it is an object, else an empty one. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

/**
 * Returns whether a method is `tools/call`, or a server that is not strict could read it so. The attack: a client spells it
 * `Tools/Call`, or with a zero byte at its end, which ends a text in C.
 */
export function resemblesToolCall(method: string): boolean {
  const [text = ''] = method.split('\0');
  return text.replaceAll(/[\s\p{C}]/gu, '').toLowerCase() === 'tools/call';
}
