import { randomUUID } from 'node:crypto';
import { backoffMs } from '@countersign/contracts';
import { systemClock, type Clock } from '@countersign/contracts/clock';
import {
  createHttpClient,
  EndlessListError,
  NoAnswerError,
  RefusedResponseError,
  retryAfterMs,
  type Answer,
  type HttpRequest,
  type Attempt,
} from '@countersign/http-client';
import { CountersignError, errorOfAnswer, messageOf, notOurs } from '../errors.js';
import { traceHeaders } from './trace.js';

/** The settings of requests. */
export interface TransportOptions {
  /** The address of Countersign, such as `http://127.0.0.1:7400`; a path in front of `/v1` is kept. */
  readonly url: string;
  /** Default: `fetchUnencoded`, which refuses compressed responses before they are decoded. */
  readonly fetch?: typeof fetch | undefined;
  readonly clock?: Clock | undefined;
  /** Chance for the jitter of waits, a number in [0, 1). */
  readonly random?: (() => number) | undefined;
  /** The maximum number of tries of a request, unless it sets its own. */
  readonly attempts?: number | undefined;
  /** Named to the server as `Countersign-Client`. */
  readonly clientName?: string | undefined;
}

/** The options of every request. */
export interface CallOptions {
  /** Stops waiting; the server continues what it has begun. */
  readonly signal?: AbortSignal | undefined;
  /** The maximum number of tries; `Infinity` waits for an unreachable server. Refusals are never retried. */
  readonly attempts?: number | undefined;
  /** Generated when missing; all attempts have the same. */
  readonly idempotencyKey?: string | undefined;
}

/** One request. */
export interface TransportRequest extends CallOptions {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: HttpRequest['query'];
  readonly token: string;
  readonly body?: unknown;
  /** For one attempt. */
  readonly timeoutMs?: number | undefined;
}

/** A request with a streaming response. */
export interface StreamRequest {
  readonly path: string;
  readonly query: HttpRequest['query'];
  readonly token: string;
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>>;
}

/** The HTTP side: repeats what may be repeated, turns refusals into `CountersignError`. */
export interface Transport {
  readonly clock: Clock;
  readonly random: () => number;
  /** The JSON body of a 2xx response. */
  readonly send: (request: TransportRequest) => Promise<unknown>;
  /** One attempt of a streaming GET. */
  readonly open: (request: StreamRequest) => Promise<Response>;
  /**
   * The next read returns no state before this position of the log. The position may be forged, so it is forgotten unless
   * that read confirms it: the server responds, and has reached it.
   */
  readonly noticePosition: (position: string) => void;
}

const attemptsDefault = 5;
/**
 * After this many reads in a row that were not served, the position of our own writes is forgotten: a log that was
 * restored from a backup never reaches it.
 */
const unservedReadsMax = 3;
const retryAfterMsMax = 60_000;
const requestBackoff = { firstMs: 200, maxMs: 10_000 } as const;

/** A transport over `fetch`. One may serve several tokens. */
export function createTransport(options: TransportOptions): Transport {
  const clock = options.clock ?? systemClock;
  const random = options.random ?? Math.random;
  // Here, and not at the first request, where it would look like a server that is away.
  const base = new URL(options.url).href.replace(/\/+$/, '');
  const http = createHttpClient({ base, fetch: options.fetch, clock });
  // Behind several gateways, a read that sends the last received position is never older than our own writes.
  const position = { answered: null as string | null, heard: null as string | null, unserved: 0 };
  const noticeAnswer = (headers: Headers): void => {
    position.answered = later(position.answered, headers.get('countersign-position'));
  };

  const open = (request: StreamRequest): Promise<Response> =>
    http
      .open({
        ...request,
        headers: { ...headersOf(request.token, options.clientName), accept: 'text/event-stream', ...request.headers },
      })
      .catch((error: unknown) => {
        throw orUnreadable(error);
      });

  const send = async (request: TransportRequest): Promise<unknown> => {
    const idempotencyKey = request.idempotencyKey ?? randomUUID();
    const attempts = request.attempts ?? options.attempts ?? attemptsDefault;
    let heard = request.method === 'GET' ? position.heard : null;
    // Attack: a forged event names a position that no log will ever reach, and every read would wait for it.
    const forget = (): void => {
      if (position.heard === heard) position.heard = null;
      heard = null;
    };
    const answer = await http
      .send({
        ...request,
        headers: () => ({
          ...headersOf(request.token, options.clientName),
          ...placeOf(request.method, idempotencyKey, later(position.answered, heard)),
        }),
        again: (outcome, attempt) => {
          if (!(outcome instanceof NoAnswerError)) noticeAnswer(outcome.headers);
          if (isFuture(request, outcome)) {
            if (heard === null) position.answered = null;
            forget();
            return attempt >= attempts ? undefined : 0;
          }
          if (statusOf(outcome) === 503) forget();
          if (isUnserved(request, outcome) && (position.unserved += 1) >= unservedReadsMax) position.answered = null;
          if (attempt >= attempts || !isPassing(outcome)) return undefined;
          // Attack: a server asks for no wait at all, and gets the request without end.
          return Math.max(askedWaitMs(outcome), backoffMs(attempt, requestBackoff, random));
        },
      })
      .catch((error: unknown) => {
        forget();
        throw error instanceof NoAnswerError ? unreachable(base, error.cause) : orUnreadable(error);
      });
    noticeAnswer(answer.headers);
    if (answer.ok) position.answered = later(position.answered, heard);
    if (answer.ok && request.method === 'GET') position.unserved = 0;
    forget();
    return bodyOf(answer);
  };
  return {
    clock,
    random,
    send,
    open,
    noticePosition: (heard) => {
      position.heard = later(position.heard, heard);
    },
  };
}

function statusOf(outcome: Attempt): number | null {
  return outcome instanceof NoAnswerError ? null : outcome.status;
}

/** The log is behind the position, or the server is away for another reason: it says the same. */
function isUnserved({ method }: TransportRequest, outcome: Attempt): boolean {
  return method === 'GET' && statusOf(outcome) === 503;
}

/** The log has not given out the position. A read has no other conflict. */
function isFuture({ method }: TransportRequest, outcome: Attempt): boolean {
  return method === 'GET' && statusOf(outcome) === 409;
}

/** Returns whether a retry may get another response. */
function isPassing(outcome: Attempt): boolean {
  const status = statusOf(outcome);
  return status === null || status === 429 || (status >= 500 && status !== 501);
}

function askedWaitMs(outcome: Attempt): number {
  if (outcome instanceof NoAnswerError) return 0;
  return retryAfterMs(outcome.headers.get('retry-after'), Date.now(), retryAfterMsMax) ?? 0;
}

function bodyOf({ ok, status, text, body }: Answer): unknown {
  if (!ok) throw errorOfAnswer(status, body);
  if (text === '') return null;
  if (body === undefined) throw unreadable(status);
  return body;
}

function placeOf(method: string, idempotencyKey: string, position: string | null): Record<string, string> {
  if (method !== 'GET') return { 'idempotency-key': idempotencyKey };
  return position === null ? {} : { 'countersign-position': position };
}

/**
 * Throws for a token that no HTTP header can have: the HTTP client would refuse it with its text in the message, as if the
 * server were away. Line ends and spaces around a token do no harm.
 */
export function checkToken(name: string, token: string): void {
  if (token.trim() === '') throw new TypeError(`${name} is empty: set it to a token of the server.`);
  if (/^[\x21-\x7e]*$/.test(token.trim())) return;
  throw new TypeError(`${name}: a token has no spaces, line ends or other special characters. Copy it again.`);
}

function headersOf(token: string, clientName: string | undefined): Record<string, string> {
  const headers = { authorization: `Bearer ${token}`, ...traceHeaders() };
  return clientName === undefined ? headers : { ...headers, 'countersign-client': clientName };
}

function later(known: string | null, answered: string | null): string | null {
  if (answered === null || known === null) return answered ?? known;
  return Number(answered) < Number(known) ? known : answered;
}

function unreachable(base: string, cause: unknown): CountersignError {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return new CountersignError({ code: 'unreachable', message: `no response from ${base}: ${messageOf(inner)}`, cause });
}

/** The value of `read`. @throws CountersignError `unreadable-response` for a response that cannot be used. */
export function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw orUnreadable(error);
  }
}

function orUnreadable(error: unknown): unknown {
  if (!(error instanceof RefusedResponseError || error instanceof EndlessListError)) return error;
  return new CountersignError({ code: 'unreadable-response', message: error.message, cause: error });
}

export function unreadable(status: number): CountersignError {
  return new CountersignError({
    code: 'unreadable-response',
    status,
    message: notOurs(status),
  });
}
