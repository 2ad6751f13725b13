import type { Refusal } from '@countersign/contracts';
import { Catch, HttpException } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import type { Log } from '@countersign/runtime';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ProblemError, retryAfter, statusOf, toProblem } from './problem.js';
import { refuseBody } from './refuse-body.js';

/** The hooks of a process for its error filter. */
export interface ProblemFilterOptions {
  /** Converts an error of the process's own kind; undefined: not known. */
  readonly known?: (error: unknown) => Refusal | undefined;
  readonly onAnswered?: (request: FastifyRequest, status: number) => void;
}

/** The one place that turns an exception into a response: `application/problem+json`, without internals. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  readonly #log: Log;
  readonly #options: ProblemFilterOptions;

  constructor(log: Log, options: ProblemFilterOptions = {}) {
    this.#log = log;
    this.#options = options;
  }

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  /** Responds with the problem of an error. */
  answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const refused = refusedOf(error) ?? this.#options.known?.(error) ?? internal;
    if (refused === internal) {
      this.#log.error(
        { error, method: request.method, path: pathOf(request), requestId: request.id },
        'a request failed unexpectedly',
      );
    }
    if (reply.sent) return;
    sendProblem(reply, refused);
    this.#options.onAnswered?.(request, statusOf(refused.code));
  }
}

const internal: Refusal = { code: 'internal-error', detail: 'the request could not be carried out; see the log' };

/** Sends a "no", with the headers that belong to its code. */
export function sendProblem(reply: FastifyReply, refused: Refusal): void {
  if (refused.code === 'unauthenticated') void reply.header('www-authenticate', 'Bearer realm="countersign"');
  if (refused.code === 'unavailable' || refused.code === 'too-many-requests')
    void reply.header('retry-after', retryAfter(refused));
  const text = JSON.stringify({ ...toProblem(refused), instance: reply.request.id });
  void reply.code(statusOf(refused.code)).header('content-type', 'application/problem+json');
  if (refused.code === 'payload-too-large') refuseBody(reply, text);
  else void reply.send(text);
}

/** Rewrites the refusals of Nest and fastify, such as a too large body, in our words. */
const byStatus: Readonly<Record<number, Refusal>> = {
  400: { code: 'invalid-request', detail: 'the request could not be read' },
  403: { code: 'forbidden', detail: 'this is not allowed' },
  404: { code: 'not-found', detail: 'this path does not exist' },
  413: { code: 'payload-too-large', detail: 'the body is too large' },
  414: { code: 'not-found', detail: 'a part of the path is longer than any id' },
  415: { code: 'unsupported-media-type', detail: 'send the body as application/json' },
};

function refusedOf(error: unknown): Refusal | undefined {
  if (error instanceof ProblemError) return error.refusal;
  const status = error instanceof HttpException ? error.getStatus() : statusCodeOf(error);
  return status >= 400 && status < 500 ? (byStatus[status] ?? byStatus[400]) : undefined;
}

function statusCodeOf(error: unknown): number {
  const status = typeof error === 'object' && error !== null && 'statusCode' in error ? error.statusCode : undefined;
  return typeof status === 'number' ? status : 0;
}

function pathOf(request: FastifyRequest): string {
  const query = request.url.indexOf('?');
  return query === -1 ? request.url : request.url.slice(0, query);
}
