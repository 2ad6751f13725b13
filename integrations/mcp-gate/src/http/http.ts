import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Gate } from '../gate.js';
import { checkCaller, HttpRefusal, readBody, refuse } from './http-request.js';
import { createSessions, type SessionOptions } from './sessions.js';
import { createStatelessService } from './stateless-service.js';

/** A gate that clients of this machine reach over streamable HTTP. */
export interface HttpGate extends Gate {
  readonly url: string;
}

/** The connections of a gate, each with a server and a run of its own. */
export interface HttpGateOptions extends SessionOptions {
  readonly port: number;
}

const host = '127.0.0.1';
const path = '/mcp';

/**
 * Listens on the loopback address alone, because every client of the port asks and executes with the tokens of the gate.
 * Rejects when the port is taken.
 */
export async function openHttpGate(options: HttpGateOptions): Promise<HttpGate> {
  const { port } = options;
  const sessions = createSessions(options);
  const stateless = createStatelessService(options);
  const ended = Promise.withResolvers<undefined>();

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    checkCaller(request, port);
    if (URL.parse(request.url ?? '/', 'http://gate')?.pathname !== path) {
      throw new HttpRefusal(404, `the gate is at ${path}`);
    }
    const body = await readBody(request);
    if (stateless.takes(request, body)) {
      await stateless.serve(request, response, body);
      return;
    }
    const id = request.headers['mcp-session-id'];
    const exchange = { request, response, body };
    await (id === undefined ? sessions.begin(exchange) : sessions.serve(String(id), exchange));
  };
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      refuse(response, error);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    url: `http://${host}:${String(port)}${path}`,
    ended: ended.promise,
    close: async () => {
      server.close();
      await Promise.all([sessions.close(), stateless.close()]);
      server.closeAllConnections();
      ended.resolve(undefined);
    },
  };
}
