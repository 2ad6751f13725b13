import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Faults } from './faults.ts';
import type { TestServer } from './server.ts';

/** The control API of a server in a separate process, over HTTP. */
export interface Control {
  readonly port: number;
  readonly stop: () => void;
}

/** Accepts `PUT /faults` with the faults as JSON, `POST /drop-subscriptions`, `GET /calls`. */
export async function startControl(server: TestServer, port: number): Promise<Control> {
  const http = createServer((request, response) => void handle(server, request, response));
  await new Promise<void>((resolve) => http.listen(port, '127.0.0.1', resolve));
  return {
    port: (http.address() as AddressInfo).port,
    stop: () => {
      http.closeAllConnections();
      http.close();
    },
  };
}

async function handle(server: TestServer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const send = (status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  try {
    switch (`${request.method} ${request.url}`) {
      case 'PUT /faults':
        server.setFaults(JSON.parse(await bodyOf(request)) as Faults);
        send(200, {});
        return;
      case 'POST /drop-subscriptions':
        send(200, { dropped: server.dropSubscriptions() });
        return;
      case 'GET /calls':
        send(200, server.calls);
        return;
      default:
        send(404, { error: 'PUT /faults, POST /drop-subscriptions, GET /calls' });
    }
  } catch (error) {
    send(400, { error: String(error) });
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
