import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

/** One received request. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface VendorAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A server on its own port. `hang`: it never responds. */
export interface VendorServer {
  readonly url: string;
  readonly received: Received[];
  /** The responses to the next requests, before the usual one. */
  readonly next: (VendorAnswer | 'hang')[];
  readonly close: () => Promise<void>;
}

export async function openVendorServer(
  answer: (request: Received) => VendorAnswer,
  upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void,
): Promise<VendorServer> {
  const received: Received[] = [];
  const next: (VendorAnswer | 'hang')[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const one = { method, path, headers, body: Buffer.concat(chunks).toString() };
      received.push(one);
      const given = next.shift() ?? answer(one);
      if (given === 'hang') return;
      response.writeHead(given.status ?? 200, { 'content-type': 'application/json', ...given.headers });
      response.end(given.body === undefined ? '' : JSON.stringify(given.body));
    });
  });
  if (upgrade !== undefined) server.on('upgrade', upgrade);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    received,
    next,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
