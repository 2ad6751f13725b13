import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** One response: its status and body. */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

/**
 * A keep-alive HTTP/1.1 connection for load: one request at a time, and only the status and the length are parsed. It
 * costs a few microseconds per request, so that the server under test gets the CPU.
 */
export interface Connection {
  readonly send: (method: string, path: string, headers: string, body: string) => Promise<Answer>;
  readonly close: () => void;
}

/** Opens a connection to a port of this machine. `headers` of `send` are raw lines, each ended by CR LF. */
export async function openConnection(port: number): Promise<Connection> {
  const socket = await new Promise<Socket>((resolve, reject) => {
    const opened = connect({ port, host: '127.0.0.1', noDelay: true }, () => {
      resolve(opened);
    });
    opened.once('error', reject);
  });
  let received = Buffer.alloc(0);
  let settle: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined;
  const fail = (error: Error): void => {
    settle?.reject(error);
    settle = undefined;
  };
  socket.on('data', (data) => {
    // Bytes, because the socket has no encoding.
    const chunk = data as Buffer<ArrayBuffer>;
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const answer = readAnswer(received);
    if (answer === undefined) return;
    received = Buffer.alloc(0);
    const waiting = settle;
    settle = undefined;
    waiting?.resolve(answer);
  });
  socket.on('error', fail);
  socket.on('close', () => {
    fail(new Error('the server closed the connection'));
  });
  return {
    send: (method, path, headers, body) =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject };
        socket.write(
          `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers}content-type: application/json\r\ncontent-length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`,
        );
      }),
    close: () => {
      socket.destroy();
    },
  };
}

/** The same through Node's own `fetch`, which the SDK calls with: what a caller has left of the machine, too. */
export function fetchConnection(port: number): Promise<Connection> {
  return Promise.resolve({
    send: async (method, path, headers, body) => {
      const lines = headers.split('\r\n').filter(Boolean);
      const pairs = lines.map((line): [string, string] => [line.split(':', 1)[0] ?? '', line.replace(/^[^:]*: */, '')]);
      const response = await fetch(`http://127.0.0.1:${String(port)}${path}`, {
        method,
        headers: [...pairs, ['content-type', 'application/json']],
        body,
      });
      return { status: response.status, body: await response.text() };
    },
    close: () => undefined,
  });
}

function readAnswer(received: Buffer): Answer | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = received.toString('latin1', 0, end);
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  if (received.length < end + 4 + length) return undefined;
  return { status: Number(head.slice(9, 12)), body: received.toString('utf8', end + 4, end + 4 + length) };
}
