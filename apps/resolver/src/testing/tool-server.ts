import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A real HTTP server for tests, on a free port of the loopback address. */
export interface ToolServer {
  readonly port: number;
  readonly received: Received[];
  /** The response handler, after the body has been read. Default: 200 and `{"ok":true}`. */
  answer: (received: Received, response: ServerResponse) => void;
  readonly close: () => Promise<void>;
}

export async function startToolServer(host = '127.0.0.1'): Promise<ToolServer> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one = { url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() };
      received.push(one);
      tool.answer(one, response);
    });
  });
  server.listen(0, host);
  await once(server, 'listening');
  const tool: ToolServer = {
    port: (server.address() as AddressInfo).port,
    received,
    answer: (_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end('{"ok":true}');
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return tool;
}
