import { ErrorCode, JSONRPCMessageSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { isObject, type Wire } from '../wire.js';
import { createBatches, namelessError } from './batches.js';

/** A message of the client is too large. */
export class MessageTooLargeError extends Error {
  override readonly name = 'MessageTooLargeError';
  constructor(bytesMax: number) {
    super(`a message of the MCP client has more than ${String(bytesMax)} bytes`);
  }
}

/**
 * Returns the client on stdin and stdout, with one message or batch in a line. The transport of the SDK drops a batch, and any
 * other line that is no message, without a reply; here the client gets an error of JSON-RPC, and `onerror` the reason.
 *
 * @param bytesMax a longer line ends the connection with a `MessageTooLargeError`.
 */
export function createStdioWire(stdin: NodeJS.ReadStream, stdout: NodeJS.WriteStream, bytesMax: number): Wire {
  let parts: Buffer[] = [];
  let bytes = 0;

  const write = (value: object): Promise<void> =>
    new Promise((resolve) => {
      if (stdout.write(`${JSON.stringify(value)}\n`)) resolve();
      else stdout.once('drain', resolve);
    });
  const batches = createBatches(write);
  const drop = (error: Error, code: ErrorCode, text: string): void => {
    wire.onerror?.(error);
    write(namelessError(code, text)).catch(() => undefined);
  };
  const pass = (message: JSONRPCMessage): void => {
    batches.fromClient(message);
    wire.onmessage?.(message);
  };
  const take = (value: unknown): void => {
    const { data: message, error } = JSONRPCMessageSchema.safeParse(value);
    if (message !== undefined) pass(message);
    else if (Array.isArray(value)) {
      const messages = batches.open(value);
      if (messages.length === 0) wire.onerror?.(error);
      for (const one of messages) pass(one);
      // A reply to what looks like a reply could be answered in the same way, without end.
    } else if (isObject(value) && ('error' in value || 'result' in value)) wire.onerror?.(error);
    else drop(error, ErrorCode.InvalidRequest, 'It is no message of MCP');
  };
  const readLine = (line: string): void => {
    if (line.trim() === '') return;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch (error) {
      drop(error as SyntaxError, ErrorCode.ParseError, 'The line is not JSON');
      return;
    }
    take(value);
  };
  const keep = (part: Buffer): boolean => {
    bytes += part.length;
    parts.push(part);
    if (bytes <= bytesMax) return true;
    wire.onerror?.(new MessageTooLargeError(bytesMax));
    void wire.close();
    return false;
  };
  const read = (chunk: Buffer): void => {
    let rest = chunk;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      if (!keep(rest.subarray(0, end))) return;
      const line = Buffer.concat(parts).toString('utf8');
      [parts, bytes, rest] = [[], 0, rest.subarray(end + 1)];
      readLine(line);
    }
    keep(rest);
  };
  const fail = (error: Error): void => wire.onerror?.(error);
  const wire: Wire = {
    start: async () => {
      stdin.on('data', read).on('error', fail);
    },
    send: batches.send,
    close: async () => {
      stdin.off('data', read).off('error', fail);
      stdin.pause();
      [parts, bytes] = [[], 0];
      batches.end();
      wire.onclose?.();
    },
  };
  return wire;
}
