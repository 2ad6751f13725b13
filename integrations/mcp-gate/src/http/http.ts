import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import { createHttpDeliveries, type HttpDeliveries } from '../client/deliveries.js';
import { openGate, type ConnectedGate, type Gate } from '../gate.js';
import type { GateOptions } from '../calls/gate-options.js';
import { createStatelessService } from './stateless-service.js';
import { checkCaller, HttpRefusal, readBody, refuse } from './http-request.js';
import type { Wire } from '../wire.js';

/** A gate that clients of this machine reach over streamable HTTP. */
export interface HttpGate extends Gate {
  readonly url: string;
}

/** The connections of a gate, each with a server and a run of its own. */
export interface HttpGateOptions {
  readonly port: number;
  readonly openServer: () => Wire;
  readonly optionsOf: () => Promise<GateOptions>;
  /** Connections at once; beyond that the one without a client that was used least recently ends. Default: 64. */
  readonly sessionsMax?: number;
  /** A connection without an open request, event stream or task whose tool runs for this time ends. Default: an hour. */
  readonly idleMs?: number;
}

interface Session {
  readonly transport: StreamableHTTPServerTransport;
  readonly idle: NodeJS.Timeout;
  readonly gate: ConnectedGate;
  readonly deliveries: HttpDeliveries;
  /** Requests and streams that are open now. */
  openRequests: number;
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
    const transport =
      id === undefined ? await sessions.begin(body, response) : sessions.use(String(id), body, response);
    await transport.handleRequest(request, response, body);
    // The transport has refused to begin a session, so its server must end.
    if (transport.sessionId === undefined) await transport.close();
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

interface Sessions {
  /** Starts a server for a request that begins a session. Throws an `HttpRefusal`. */
  readonly begin: (body: unknown, response: ServerResponse) => Promise<StreamableHTTPServerTransport>;
  /** The session is in use until the response ends. Throws an `HttpRefusal` when there is no such session. */
  readonly use: (id: string, body: unknown, response: ServerResponse) => StreamableHTTPServerTransport;
  readonly close: () => Promise<void>;
}

function createSessions({ openServer, optionsOf, sessionsMax = 64, idleMs = 3_600_000 }: HttpGateOptions): Sessions {
  /** Those that were used last are at the end. */
  const sessions = new Map<string, Session>();
  /** Open gates, also those whose session has not begun. */
  const gates = new Set<Promise<Gate>>();
  const followedTasks: GateOptions['followedTasks'] = new Map();

  const openFor = async (
    transport: StreamableHTTPServerTransport,
    deliveries: HttpDeliveries,
  ): Promise<ConnectedGate> => openGate(transport, openServer(), { ...(await optionsOf()), followedTasks }, deliveries);

  /** A client that crashes, or leaves without a word, leaves its session and its server behind. */
  const endUnused = async (): Promise<void> => {
    const [id, session] = [...sessions].find(([, one]) => !isUsed(one)) ?? [];
    if (id === undefined || session === undefined) throw new HttpRefusal(503, tooMany(sessionsMax));
    sessions.delete(id);
    await session.gate.close();
  };

  return {
    begin: async (body, response) => {
      if (!isInitializeRequest(body)) throw new HttpRefusal(400, 'a session begins with a request "initialize"');
      while (gates.size >= sessionsMax) await endUnused();
      const deliveries = createHttpDeliveries();
      deliveries.follow(body, response);
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: async (id) => {
          const gate = await opening;
          const idle = setTimeout(() => {
            // The end of a response starts the time again.
            if (!isUsed(session)) void gate.close();
            else if (session.openRequests === 0) idle.refresh();
          }, idleMs).unref();
          const session: Session = { transport, gate, deliveries, idle, openRequests: 0 };
          sessions.set(id, session);
          keepOpen(session, response);
          void gate.ended.then(() => {
            clearTimeout(idle);
            sessions.delete(id);
          });
        },
      });
      const opening = openFor(transport, deliveries);
      gates.add(opening);
      const forget = (): void => void gates.delete(opening);
      opening.then(({ ended }) => ended.then(forget), forget);
      await opening;
      return transport;
    },
    use: (id, body, response) => {
      const session = sessions.get(id);
      if (session === undefined) {
        throw new HttpRefusal(404, 'the gate does not know this session: begin a new one');
      }
      session.deliveries.cancel(body);
      const usedId = session.deliveries.usedId(body);
      if (usedId !== undefined) throw new HttpRefusal(400, `the id ${JSON.stringify(usedId)} is in use`);
      session.idle.refresh();
      sessions.delete(id);
      sessions.set(id, session);
      keepOpen(session, response);
      session.deliveries.follow(body, response);
      return session.transport;
    },
    close: async () => {
      await Promise.allSettled([...gates].map(async (opening) => (await opening).close()));
    },
  };
}

/** Also a task whose tool runs: the end of the session would end the server, and nothing would tell whether the tool ran. */
function isUsed({ openRequests, gate }: Session): boolean {
  return openRequests > 0 || gate.runsTask();
}

/** The session has an open request until the response closes. */
function keepOpen(session: Session, response: ServerResponse): void {
  if (response.destroyed) return;
  session.openRequests += 1;
  response.once('close', () => {
    session.openRequests -= 1;
    session.idle.refresh();
  });
}

function tooMany(sessionsMax: number): string {
  return `the gate has too many connections: all ${String(sessionsMax)} have an open request, event stream or running task. End one of them, or start another gate`;
}
