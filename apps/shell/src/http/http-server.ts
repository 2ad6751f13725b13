import type { Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createConnections } from './connections.js';
import type { Connections } from './connections.js';
import { ProblemError, toProblem } from './problem.js';
import type { ProblemFilter } from './problem-filter.js';
import { safeHeaders } from './safe-headers.js';

/** What the HTTP side of a process is told. */
export interface HttpServerOptions {
  /** Bytes that a body may have. */
  readonly bodyBytesMax: number;
  readonly filter: ProblemFilter;
  /** The methods that a path knows; undefined: no such path. */
  readonly methodsOf: (path: string) => readonly string[] | undefined;
  /** Connections that may be open without a request that holds them; default 4,096. */
  readonly connectionsMax?: number;
}

/** Nest's adapter over a fastify that answers nothing but problems where it refuses. */
export interface HttpServer {
  readonly adapter: FastifyAdapter;
  readonly fastify: FastifyInstance;
  /** From now on every new request is answered 503, and connections are not kept. */
  readonly drain: () => void;
  readonly isDraining: () => boolean;
  /** Keeps the connection of a request that stays for long, and tells when it is gone. */
  readonly hold: Connections['hold'];
}

/** A whole request must be there after this long: nobody holds a connection by sending a byte a minute. */
const requestTimeoutMs = 60_000;
const keepAliveTimeoutMs = 72_000;
const headersTimeoutMs = 20_000;
const connectionsMaxDefault = 4096;
/** An id of 256 characters, percent-encoded. */
const paramLengthMax = 4096;

/** Routes check with schemas of their own: fastify's compilers are neither used nor loaded, which takes a tenth of a start. */
const noSchemas = { buildValidator: refuseSchemas, buildSerializer: refuseSchemas };

function refuseSchemas(): never {
  throw new Error('no route here has a schema of fastify');
}

/**
 * Nest sets an error handler, but only once it starts: routes that fastify has bound by then would answer 500 to a
 * refusal. Ours is there from the beginning, and asks the same filter.
 */
class OneErrorHandlerAdapter extends FastifyAdapter {
  override setErrorHandler(): ReturnType<FastifyAdapter['setErrorHandler']> {
    return this.getInstance();
  }
}

/**
 * Fastify with what every process of ours wants: no body parser but one's own, 404 and 405 before any body is read,
 * headers that keep answers out of caches and frames, and an orderly end.
 */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { bodyBytesMax, filter, methodsOf, connectionsMax = connectionsMaxDefault } = options;
  const adapter = new OneErrorHandlerAdapter({
    bodyLimit: bodyBytesMax,
    // HEAD and OPTIONS are no part of the API: they are answered 405 like any other method that a path does not know.
    exposeHeadRoutes: false,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    // Our own hook answers while draining, in our own words.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    skipMiddie: true,
    schemaController: { compilersFactory: noSchemas },
    routerOptions: { maxParamLength: paramLengthMax },
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      filter.answer(error, request, reply);
    },
    clientErrorHandler: answerBrokenRequest,
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
  fastify.addHook('onRequest', (request, reply, done) => {
    connections.use(request.raw.socket);
    if (isDraining) {
      void reply.header('connection', 'close');
      done(new ProblemError('unavailable', 'this process is about to stop'));
    } else if (request.is404) {
      done(unknownRoute(request, reply, methodsOf));
    } else {
      done();
    }
  });
  fastify.addHook('onSend', (_, reply, payload, done) => {
    // A page brings its own.
    for (const [name, value] of Object.entries(safeHeaders)) if (!reply.hasHeader(name)) void reply.header(name, value);
    done(null, payload);
  });
  return {
    adapter,
    fastify,
    drain: () => {
      isDraining = true;
      // A connection whose last answer still said keep-alive must not hold up the end,
      fastify.server.keepAliveTimeout = 1;
      // nor one that was opened and never used: Node does not count it as idle.
      connections.closeUnused();
    },
    isDraining: () => isDraining,
    hold: connections.hold,
  };
}

function unknownRoute(
  request: FastifyRequest,
  reply: FastifyReply,
  methodsOf: HttpServerOptions['methodsOf'],
): ProblemError {
  const query = request.url.indexOf('?');
  const methods = methodsOf(query === -1 ? request.url : request.url.slice(0, query));
  // Nobody reads a body that was sent there.
  if (request.method !== 'GET') void reply.header('connection', 'close');
  if (methods === undefined) return new ProblemError('not-found', 'this path does not exist');
  void reply.header('allow', methods.join(', '));
  return new ProblemError('method-not-allowed', `this path takes ${methods.join(', ')}, not ${request.method}`);
}

/** What Node could not read as HTTP at all. */
function answerBrokenRequest(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const detail = error.code === 'HPE_HEADER_OVERFLOW' ? 'the headers are too large' : 'this is not readable as HTTP';
  const body = JSON.stringify(toProblem({ code: 'invalid-request', detail }));
  if (socket.writable) {
    socket.write(
      'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/problem+json\r\n' +
        `Content-Length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`,
    );
  }
  socket.destroy(error);
}
