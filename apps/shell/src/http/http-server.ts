import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Refusal } from '@countersign/contracts';
import { openLogScope } from '@countersign/runtime';
import type { LogScope } from '@countersign/runtime';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createCors } from './cors.js';
import type { Cors } from './cors.js';
import { createConnections } from './connections.js';
import type { Connections } from './connections.js';
import { ProblemError, toProblem } from './problem.js';
import type { ProblemFilter } from './problem-filter.js';
import { safeHeaders } from './safe-headers.js';
import { requestHeaders } from './send-text.js';

/** The settings of the HTTP side of a process. */
export interface HttpServerOptions {
  /** Bytes that a body may have. */
  readonly bodyBytesMax: number;
  readonly filter: ProblemFilter;
  /** The methods of a path; undefined: unknown path. */
  readonly methodsOf: (path: string) => readonly string[] | undefined;
  /** Serves HTTPS; default: HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Connections that may be open without a request that holds them; default 4,096. */
  readonly connectionsMax?: number;
  /** `RateLimit` and its policy, as names and values, of a request that nothing counts. */
  readonly rateHeaders?: readonly string[];
  /** The origins whose pages may call the API; default: none. */
  readonly corsOrigins?: readonly string[];
}

/** Nest's adapter for a fastify that responds with problem documents only when it refuses. */
export interface HttpServer {
  readonly adapter: FastifyAdapter;
  readonly fastify: FastifyInstance;
  /** From now on every new request gets 503, and connections are closed after their response. */
  readonly drain: () => void;
  readonly isDraining: () => boolean;
  /** Holds the connection of a long request, and reports when it closes. */
  readonly hold: Connections['hold'];
}

/** The time limit for a whole request: slow sending does not hold a connection. */
const requestTimeoutMs = 60_000;
const keepAliveTimeoutMs = 72_000;
const headersTimeoutMs = 20_000;
const connectionsMaxDefault = 4096;
/** An id of 256 characters, percent-encoded. */
const paramLengthMax = 4096;

/** The address of a list by a `toolCallId` of 2,048 characters of four bytes each takes 24 KiB. Node's default is 16 KiB. */
const headerBytesMax = 32 * 1024;

/** Routes validate with their own schemas. Fastify's compilers are not loaded, which saves a tenth of the start. */
const noSchemas = { buildValidator: refuseSchemas, buildSerializer: refuseSchemas };

function refuseSchemas(): never {
  throw new Error('no route here has a schema of fastify');
}

/**
 * Nest sets its error handler only when it starts, and routes that fastify has bound by then would return 500 for a
 * refusal. Ours is there from the beginning and uses the same filter.
 */
class OneErrorHandlerAdapter extends FastifyAdapter {
  override setErrorHandler(): ReturnType<FastifyAdapter['setErrorHandler']> {
    return this.getInstance();
  }
}

/**
 * Fastify with the common settings of our processes: only our body parser, 404 and 405 before a body is read, headers
 * against caching and framing, and an orderly shutdown.
 */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { bodyBytesMax, filter, connectionsMax = connectionsMaxDefault, tls, rateHeaders = null } = options;
  const { corsOrigins = [] } = options;
  const methodsOf = withHead(options.methodsOf);
  const cors = corsOrigins.length === 0 ? undefined : createCors(corsOrigins);
  const adapter = new OneErrorHandlerAdapter({
    ...(tls ? { https: { ...tls, maxHeaderSize: headerBytesMax } } : { http: { maxHeaderSize: headerBytesMax } }),
    bodyLimit: bodyBytesMax,
    // HEAD runs the handler of GET, and its answer has no body. OPTIONS gets 405 like any other unknown method of a path.
    exposeHeadRoutes: true,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    // Our own hook responds while draining, with our own text.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    skipMiddie: true,
    schemaController: { compilersFactory: noSchemas },
    routerOptions: { maxParamLength: paramLengthMax },
    genReqId: ({ headers }: IncomingMessage) => sensibleId(headers['request-id']) ?? randomUUID(),
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      // No hook runs for a URL that cannot be read.
      begin(request, rateHeaders, cors);
      setHeaders(request, reply);
      filter.answer(error, request, reply);
    },
    clientErrorHandler: (error, socket) => {
      answerBrokenRequest(error, socket, rateHeaders ?? []);
    },
  });
  const fastify = adapter.getInstance<FastifyInstance>();
  fastify.removeAllContentTypeParsers();
  fastify.setErrorHandler((error, request, reply) => {
    filter.answer(error, request, reply);
  });
  let isDraining = false;
  const connections = createConnections(connectionsMax);
  fastify.server.headersTimeout = headersTimeoutMs;
  fastify.server.on('connection', (socket: Socket) => {
    if (isDraining) socket.destroy();
    connections.add(socket);
  });
  beginRequests(fastify, rateHeaders, cors);
  fastify.addHook('onRequest', (request, reply, done) => {
    connections.use(request.raw.socket);
    if (isDraining) {
      void reply.header('connection', 'close');
      done(new ProblemError('unavailable', 'this process is about to stop'));
    } else if (request.is404) {
      const methods = methodsOf(request);
      if (methods === undefined || cors?.answerPreflight(request, reply, methods) !== true)
        done(unknownRoute(request, reply, methods));
    } else {
      done();
    }
  });
  fastify.addHook('onSend', (request, reply, payload, done) => {
    setHeaders(request, reply);
    done(null, payload);
  });
  return {
    adapter,
    fastify,
    drain: () => {
      isDraining = true;
      // A connection whose last response said keep-alive must not delay the shutdown,
      fastify.server.keepAliveTimeout = 1;
      // nor one that was never used: Node does not count it as idle.
      connections.closeUnused();
    },
    isDraining: () => isDraining,
    hold: connections.hold,
  };
}

/** Sets the headers that every answer has. */
function setHeaders(request: FastifyRequest, reply: FastifyReply): void {
  const lines = requestHeaders(request);
  for (let at = 0; at < lines.length; at += 2) void reply.header(lines[at] ?? '', lines[at + 1]);
  const isFramed = mayBeFramed(reply);
  for (const [name, value] of Object.entries(safeHeaders)) {
    // A page brings its own. The older header knows no list of origins, and would contradict it.
    if (!reply.hasHeader(name) && !(isFramed && name === 'x-frame-options')) void reply.header(name, value);
  }
}

function mayBeFramed(reply: FastifyReply): boolean {
  const policy = reply.getHeader('content-security-policy');
  return typeof policy === 'string' && !policy.includes("frame-ancestors 'none'");
}

/** Puts the id of a request into every line that is logged for it, until it is answered. */
function beginRequests(fastify: FastifyInstance, rateHeaders: readonly string[] | null, cors: Cors | undefined): void {
  fastify.decorateRequest('rateHeaders', null);
  fastify.decorateRequest('corsHeaders', null);
  fastify.decorateRequest('logScope', undefined);
  fastify.addHook('onRequest', (request, reply, done) => {
    begin(request, rateHeaders, cors);
    const scope = openLogScope({ requestId: request.id });
    request.logScope = scope;
    reply.raw.once('close', scope.end);
    scope.run(done);
  });
  // Reading a body leaves the scope.
  fastify.addHook('preHandler', ({ logScope }, _reply, done) => {
    if (logScope === undefined) done();
    else logScope.run(done);
  });
}

function begin(request: FastifyRequest, rateHeaders: readonly string[] | null, cors: Cors | undefined): void {
  request.rateHeaders = rateHeaders;
  request.corsHeaders = cors === undefined ? null : cors.headersFor(request);
}

declare module 'fastify' {
  interface FastifyRequest {
    /** `RateLimit` and its policy, as names and values; null: the process has no limits. */
    rateHeaders: readonly string[] | null;
    /** What a browser reads to show the answer to a page of another origin, as names and values; null: no page may. */
    corsHeaders: readonly string[] | null;
    logScope: LogScope | undefined;
  }
}

/** The id that a client gives to its request, where a log line and a header can have it. */
function sensibleId(id: string | string[] | undefined): string | undefined {
  return typeof id === 'string' && /^[\w.:/+=@-]{1,128}$/.test(id) ? id : undefined;
}

/** The methods of the path of a request. HEAD works wherever GET does. */
function withHead(
  methodsOf: HttpServerOptions['methodsOf'],
): (request: FastifyRequest) => readonly string[] | undefined {
  return ({ url }) => {
    const query = url.indexOf('?');
    const named = methodsOf(query === -1 ? url : url.slice(0, query));
    return named?.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  };
}

function unknownRoute(
  request: FastifyRequest,
  reply: FastifyReply,
  methods: readonly string[] | undefined,
): ProblemError {
  // A body that was sent there is not read.
  if (request.method !== 'GET' && request.method !== 'HEAD') void reply.header('connection', 'close');
  if (methods === undefined) return new ProblemError('not-found', 'this path does not exist');
  void reply.header('allow', methods.join(', '));
  return new ProblemError('method-not-allowed', `this path takes ${methods.join(', ')}, not ${request.method}`);
}

/** A request that did not arrive in time, or bytes that Node could not parse as HTTP. */
function answerBrokenRequest(
  error: Error & { readonly code?: string },
  socket: Socket,
  rateHeaders: readonly string[],
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const id = randomUUID();
  const problem = toProblem(whyBroken(error.code));
  const body = JSON.stringify({ ...problem, instance: id });
  if (socket.writable) {
    const lines = rateHeaders.map((part, at) => (at % 2 === 0 ? `${part}: ` : `${part}\r\n`)).join('');
    socket.write(
      `HTTP/1.1 ${String(problem.status)} ${STATUS_CODES[problem.status] ?? ''}\r\n` +
        `Connection: close\r\nRequest-Id: ${id}\r\n${problem.code === 'unavailable' ? 'Retry-After: 1\r\n' : ''}` +
        `${lines}Content-Type: application/problem+json\r\n` +
        `Content-Length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`,
    );
  }
  socket.destroy(error);
}

function whyBroken(code: string | undefined): Refusal {
  // Nothing is wrong with the request of a client, or a server, on a busy machine.
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const detail = `the request did not arrive in time: its headers within ${String(headersTimeoutMs / 1000)} s, all of it within ${String(requestTimeoutMs / 1000)} s. Send it again`;
    return { code: 'unavailable', detail };
  }
  const detail = code === 'HPE_HEADER_OVERFLOW' ? 'the headers are too large' : 'this is not readable as HTTP';
  return { code: 'invalid-request', detail };
}
