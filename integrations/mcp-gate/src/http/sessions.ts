import type { ServerResponse } from 'node:http';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import type { GateOptions } from '../calls/gate-options.js';
import { openGate, type ConnectedGate, type Gate } from '../gate.js';
import type { Wire } from '../wire.js';
import type { HttpExchange } from './channels.js';
import { HttpRefusal } from './http-request.js';
import { createSessionWire, type SessionWire } from './session-wire.js';

/** The sessions of a gate over HTTP. */
export interface Sessions {
  /** Starts a server for a request that begins a session. Rejects with an `HttpRefusal`. */
  readonly begin: (exchange: HttpExchange) => Promise<void>;
  /** Serves a request of a session, which is in use until the response ends. Rejects with an `HttpRefusal`. */
  readonly serve: (id: string, exchange: HttpExchange) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The servers and the limits of the sessions. */
export interface SessionOptions {
  readonly openServer: () => Wire;
  readonly optionsOf: () => Promise<GateOptions>;
  /** Connections at once; beyond that the one without a client that was used least recently ends. Default: 64. */
  readonly sessionsMax?: number;
  /** A connection without an open request, event stream or task whose tool runs for this time ends. Default: an hour. */
  readonly idleMs?: number;
}

interface Session {
  readonly client: SessionWire;
  readonly gate: ConnectedGate;
  readonly idle: NodeJS.Timeout;
  /** Requests and streams that are open now. */
  openRequests: number;
}

export function createSessions(options: SessionOptions): Sessions {
  const { openServer, optionsOf, sessionsMax = 64, idleMs = 3_600_000 } = options;
  /** Those that were used last are at the end. */
  const sessions = new Map<string, Session>();
  /** Open gates, also those whose session has not begun. */
  const gates = new Set<Promise<Gate>>();
  const followedTasks: GateOptions['followedTasks'] = new Map();

  const openFor = async ({ wire, deliveries }: SessionWire, onTaskEnd: () => void): Promise<ConnectedGate> =>
    openGate(wire, openServer(), { ...(await optionsOf()), followedTasks, onTaskEnd }, deliveries);

  /** A client that crashes, or leaves without a word, leaves its session and its server behind. */
  const endUnused = async (): Promise<void> => {
    const [id, session] = [...sessions].find(([, one]) => !isUsed(one)) ?? [];
    if (id === undefined || session === undefined) throw new HttpRefusal(503, tooMany(sessionsMax));
    sessions.delete(id);
    await session.gate.close();
  };
  const open = async (client: SessionWire): Promise<Session> => {
    const opening = openFor(client, () => session.idle.refresh());
    gates.add(opening);
    const forget = (): void => void gates.delete(opening);
    opening.then(({ ended }) => ended.then(forget), forget);
    const gate = await opening;
    // The end of a response, and that of a task, starts the time again.
    const idle = setTimeout(() => {
      if (!isUsed(session)) void gate.close();
    }, idleMs).unref();
    const session: Session = { client, gate, idle, openRequests: 0 };
    return session;
  };
  return {
    begin: async (exchange) => {
      if (!isInitializeRequest(exchange.body)) {
        throw new HttpRefusal(400, 'a session begins with a request "initialize"');
      }
      while (gates.size >= sessionsMax) await endUnused();
      const session = await open(createSessionWire());
      let isBegun = false;
      const onBegin = (id: string): void => {
        isBegun = true;
        sessions.set(id, session);
        keepOpen(session, exchange.response);
        void session.gate.ended.then(() => {
          clearTimeout(session.idle);
          sessions.delete(id);
        });
      };
      await session.client.begin(exchange, onBegin).finally(() => {
        // Its server must end.
        if (!isBegun) void session.gate.close();
      });
    },
    serve: async (id, exchange) => {
      const session = sessions.get(id);
      if (session === undefined) {
        throw new HttpRefusal(404, 'the gate does not know this session: begin a new one');
      }
      session.idle.refresh();
      sessions.delete(id);
      sessions.set(id, session);
      keepOpen(session, exchange.response);
      await session.client.serve(exchange);
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
