import { createReceiptGuard } from './guard.js';
import type { GuardOptions } from './guard.js';
import { captureAnswer } from './capture-answer.js';
import type { CapturedAnswer, NodeResponse } from './capture-answer.js';

/** A request of Node's server with a parsed JSON body, as express and fastify have it. */
export interface ParsedRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: unknown;
}

/** The options of middleware. */
export interface MiddlewareOptions extends GuardOptions {
  /** The tool that the route is. */
  readonly toolName: string;
  /** The arguments in a request. Default: the member `arguments` of its JSON body, where Countersign sends them. */
  readonly argumentsOf?: ((request: ParsedRequest) => unknown) | undefined;
}

/** The reply of fastify, as far as the hook needs it. */
export interface FastifyLikeReply {
  readonly raw: NodeResponse;
  readonly hijack: () => unknown;
}

/**
 * Middleware of express, after `express.json()`: the route runs only with a valid receipt in `Countersign-Receipt`, and a retry with the same
 * `Idempotency-Key` gets the first answer.
 * @example
 * app.post('/refund', express.json(), requireReceipt({ toolName: 'refund_order', issuer, jwksUrl }), refund);
 */
export function requireReceipt(
  options: MiddlewareOptions,
): (request: ParsedRequest, response: NodeResponse, next: (error?: unknown) => void) => void {
  const check = createCheck(options);
  return (request, response, next) => {
    check(request, response).then((mayRun) => {
      if (mayRun) next();
    }, next);
  };
}

/**
 * A hook `preHandler` of fastify with the same promise.
 * @example
 * app.post('/refund', { preHandler: receiptHook({ toolName: 'refund_order', issuer, jwksUrl }) }, refund);
 */
export function receiptHook(
  options: MiddlewareOptions,
): (request: ParsedRequest, reply: FastifyLikeReply) => Promise<FastifyLikeReply | undefined> {
  const check = createCheck(options);
  return async (request, reply) => {
    if (await check(request, reply.raw)) return undefined;
    // The answer is written already.
    reply.hijack();
    return reply;
  };
}

/** Returns whether the route runs; otherwise the answer is written. */
function createCheck(options: MiddlewareOptions) {
  const guard = createReceiptGuard<CapturedAnswer>(options);
  const { toolName, argumentsOf = argumentsInBody } = options;
  return (request: ParsedRequest, response: NodeResponse): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const call = {
        toolName,
        receipt: headerOf(request, 'countersign-receipt'),
        arguments: argumentsOf(request),
        idempotencyKey: headerOf(request, 'idempotency-key'),
      };
      const answered = guard.run(call, () => {
        const captured = captureAnswer(response);
        resolve(true);
        return captured;
      });
      answered.then((result) => {
        if (result.status === 'repeated') write(response, { ...result.answer, isRepeat: true });
        if (result.status === 'refused') write(response, problemOf(result));
        if (result.status !== 'ran') resolve(false);
      }, reject);
    });
}

function argumentsInBody({ body }: ParsedRequest): unknown {
  return typeof body === 'object' && body !== null && 'arguments' in body ? body.arguments : undefined;
}

/** Attack: two headers, of which another reader takes the other one. */
function headerOf({ headers }: ParsedRequest, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' ? value : null;
}

function problemOf({ code, detail }: { readonly code: string; readonly detail: string }): CapturedAnswer {
  const status = code === 'keys-unavailable' ? 503 : 403;
  const text = JSON.stringify({ type: 'about:blank', title: 'The receipt is refused', status, code, detail });
  return { status, contentType: 'application/problem+json', body: new TextEncoder().encode(text) };
}

function write(
  response: NodeResponse,
  { status, contentType, body, isRepeat }: CapturedAnswer & { isRepeat?: true },
): void {
  const repeat = isRepeat === true ? { 'idempotent-replayed': 'true' } : {};
  response.writeHead(status, { 'content-type': contentType, 'content-length': String(body.length), ...repeat });
  response.end(body);
}
