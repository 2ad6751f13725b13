import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import {
  ErrorCode,
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCRequest,
} from '@modelcontextprotocol/sdk/types.js';
import type { Deliveries } from '../client/deliveries.js';
import type { GateOptions } from '../calls/gate-options.js';
import { openGate, type ConnectedGate } from '../gate.js';
import { createHttpExchange, sendReply } from '../stateless/http-exchange.js';
import { headerProblem, isStatelessPost, versionMismatch } from '../stateless/http-headers.js';
import { metaNames, passedExtensions, statelessErrors } from '../stateless/protocol.js';
import { failed, factsOf } from '../stateless/request-facts.js';
import { createStatelessClient, type StatelessClient } from '../stateless/stateless-client.js';
import { objectOf, type ClientWire, type Wire } from '../wire.js';
import { HttpRefusal } from './http-request.js';

/** The stateless requests to a gate over HTTP. They have no session: all of them share the connections to the server. */
export interface StatelessService {
  /** Returns whether a request is one of these. */
  readonly takes: (request: IncomingMessage, body: unknown) => boolean;
  readonly serve: (request: IncomingMessage, response: ServerResponse, body: unknown) => Promise<void>;
  readonly close: () => Promise<void>;
}

interface Connection {
  readonly client: StatelessClient;
  readonly gate: ConnectedGate;
  readonly idle: NodeJS.Timeout;
  openRequests: number;
}

/** The server of these requests. */
export interface StatelessServiceOptions {
  readonly openServer: () => Wire;
  readonly optionsOf: () => Promise<GateOptions>;
  /** A connection without an open request or a task whose tool runs for this time ends. Default: an hour. */
  readonly idleMs?: number;
}

export function createStatelessService(options: StatelessServiceOptions): StatelessService {
  const { openServer, optionsOf, idleMs = 3_600_000 } = options;
  const connections = new Map<string, Promise<Connection>>();
  const followedTasks: GateOptions['followedTasks'] = new Map();

  const open = async (): Promise<Connection> => {
    const client = createStatelessClient({ toServer: (message) => wire.onmessage?.(message), isOneClient: false });
    const wire: ClientWire = {
      start: async () => undefined,
      send: async (message) => {
        client.fromServer(message);
      },
      close: async () => {
        client.end();
      },
      roundOf: client.roundOf,
    };
    const of: Deliveries['of'] = (id, sent) => client.deliveryOf(id) ?? sent;
    const gate = await openGate(
      wire,
      openServer(),
      { ...(await optionsOf()), followedTasks, onTaskEnd: () => connection.idle.refresh() },
      { of, hasStream: () => true },
    );
    // The end of a response, and that of a task, starts the time again.
    const idle = setTimeout(() => {
      // While the tool of a task runs, the end of the connection would end the server: nothing would tell whether the tool ran.
      if (connection.openRequests === 0 && !gate.runsTask()) void gate.close();
    }, idleMs).unref();
    const connection: Connection = { client, gate, idle, openRequests: 0 };
    return connection;
  };
  /** A server hears at the beginning of a session what its client can do, so clients that can do other things have another. */
  const connectionFor = (request: JSONRPCRequest): Promise<Connection> => {
    const key = kindOf(request);
    const known = connections.get(key);
    if (known !== undefined) return known;
    const opening = open();
    connections.set(key, opening);
    const forget = (): void => {
      if (connections.get(key) === opening) connections.delete(key);
    };
    opening.then(({ gate, idle }) => gate.ended.finally(() => clearTimeout(idle)).then(forget), forget);
    return opening;
  };
  const exchange = async (
    request: JSONRPCRequest,
    headers: IncomingHttpHeaders,
    response: ServerResponse,
  ): Promise<void> => {
    const connection = await connectionFor(request);
    if (response.destroyed) return;
    const one = createHttpExchange(request.id, headers, response);
    connection.openRequests += 1;
    void one.delivered.then((isDelivered) => {
      connection.openRequests -= 1;
      connection.idle.refresh();
      // In this version a client cancels its request when it closes the response.
      if (!isDelivered) connection.client.cancel(one);
    });
    connection.client.take(request, one);
  };
  return {
    takes: ({ method, headers }, body) => method === 'POST' && isStatelessPost(headers, body),
    serve: async ({ headers }, response, body) => {
      if (!/^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? '')) {
        throw new HttpRefusal(415, 'Content-Type must be application/json');
      }
      if (isJSONRPCNotification(body)) {
        response.writeHead(202).end();
        return;
      }
      if (!isJSONRPCRequest(body)) {
        sendReply(response, null, failed(ErrorCode.InvalidRequest, 'The body must be one request of JSON-RPC'), 400);
        return;
      }
      const problem =
        versionMismatch(headers, body) ?? versionProblem(body) ?? headerProblem(headers, body) ?? problemOf(body);
      if (problem === undefined) await exchange(body, headers, response);
      else sendReply(response, body.id, problem, problem.error.code === methodNotFound ? 404 : 400);
    },
    close: async () => {
      await Promise.allSettled([...connections.values()].map(async (opening) => (await opening).gate.close()));
    },
  };
}

function problemOf(request: JSONRPCRequest): ReturnType<typeof failed> | undefined {
  const facts = factsOf(request);
  return 'error' in facts ? facts : undefined;
}

const methodNotFound: number = ErrorCode.MethodNotFound;
const unsupportedVersion: number = statelessErrors.unsupportedVersion;

/** A client that speaks another version hears that first, whatever its headers are. */
function versionProblem(request: JSONRPCRequest): ReturnType<typeof failed> | undefined {
  const problem = problemOf(request);
  return problem?.error.code === unsupportedVersion ? problem : undefined;
}

/** What a server may ask clients like this one. */
function kindOf({ params }: JSONRPCRequest): string {
  const { elicitation, sampling, roots, extensions } = objectOf(objectOf(params?._meta)[metaNames.capabilities]);
  const asked = Object.keys(objectOf(elicitation));
  const forms = elicitation !== undefined && (asked.length === 0 || asked.includes('form'));
  const kinds = {
    forms,
    urls: asked.includes('url'),
    sampling,
    roots,
    ...Object.fromEntries(passedExtensions.map((name) => [name, name in objectOf(extensions)])),
  };
  return Object.entries(kinds)
    .filter(([, has]) => has !== undefined && has !== false)
    .map(([name]) => name)
    .join();
}
