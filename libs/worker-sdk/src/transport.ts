import { randomUUID } from 'node:crypto';
import { backoffMs } from '@countersign/contracts';
import { linkedController, reasonOf, sleep, systemClock, type WorkerClock } from './clock.js';
import { CountersignError, errorOfAnswer, messageOf } from './errors.js';
import { retryAfterMs } from './retry-after.js';

/** What requests go out with. */
export interface TransportOptions {
  /** Where Countersign is, such as `http://127.0.0.1:7400`; a path in front of `/v1` is kept. */
  readonly url: string;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  readonly clock?: WorkerClock | undefined;
  /** Chance for the jitter of waits, a number in [0, 1). */
  readonly random?: (() => number) | undefined;
  /** How often a request is tried at most, unless it says otherwise. */
  readonly attempts?: number | undefined;
  /** Named to the server as `Countersign-Client`. */
  readonly clientName?: string | undefined;
}

/** What every request can be given. */
export interface CallOptions {
  /** Gives up waiting; what the server has begun goes on. */
  readonly signal?: AbortSignal | undefined;
  /** How often to try at most; `Infinity` to wait for a server that is away. Refusals are never repeated. */
  readonly attempts?: number | undefined;
  /** One is made when it is missing; all attempts carry the same. */
  readonly idempotencyKey?: string | undefined;
}

/** One request. */
export interface TransportRequest extends CallOptions {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly token: string;
  readonly body?: unknown;
  /** For one attempt. */
  readonly timeoutMs?: number;
}

/** A request whose answer is a stream. */
export interface StreamRequest {
  readonly path: string;
  readonly token: string;
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>>;
}

/** The HTTP side: repeats what may be repeated, turns refusals into `CountersignError`. */
export interface Transport {
  readonly clock: WorkerClock;
  readonly random: () => number;
  /** The JSON body of a 2xx answer. */
  readonly send: (request: TransportRequest) => Promise<unknown>;
  /** One attempt at a streaming GET. */
  readonly open: (request: StreamRequest) => Promise<Response>;
  /**
   * From now on no read is answered from before this position of the log, which was heard of elsewhere: unless the server
   * has not reached it, for what is heard may be forged.
   */
  readonly noticePosition: (position: string) => void;
}

const attemptsDefault = 5;
const attemptTimeoutMs = 30_000;
const retryAfterMsMax = 60_000;
const requestBackoff = { firstMs: 200, maxMs: 10_000 } as const;

type Attempt =
  | { readonly kind: 'answered'; readonly body: unknown }
  | { readonly kind: 'refused'; readonly error: CountersignError }
  | { readonly kind: 'again'; readonly error: CountersignError; readonly delayMs: number | undefined };

/** A transport over `fetch`. One may serve several tokens. */
export function createTransport(options: TransportOptions): Transport {
  const fetchOnce = options.fetch ?? fetch;
  const clock = options.clock ?? systemClock;
  const random = options.random ?? Math.random;
  // Here, and not at the first request, where it would look like a server that is away.
  const base = new URL(options.url).href.replace(/\/+$/, '');
  // Behind several gateways, a read that names the last position answered is never older than our own writes.
  const position = { answered: null as string | null, heard: null as string | null };

  const open = (request: StreamRequest): Promise<Response> =>
    fetchOnce(`${base}${request.path}`, {
      headers: { ...headersOf(request.token, options.clientName), accept: 'text/event-stream', ...request.headers },
      // The token is for the server that was named, not for wherever that one points.
      redirect: 'manual',
      signal: request.signal,
    });

  const attemptOnce = async (
    request: TransportRequest,
    idempotencyKey: string,
    noOlderThan: string | null,
  ): Promise<Attempt> => {
    const timeoutMs = request.timeoutMs ?? attemptTimeoutMs;
    const limit = linkedController(request.signal);
    const cancelTimer = clock.setTimer(timeoutMs, () => {
      limit.abort(new Error(`no answer within ${String(timeoutMs)} ms`));
    });
    try {
      const response = await fetchOnce(`${base}${request.path}`, {
        method: request.method,
        headers: requestHeaders(request, idempotencyKey, noOlderThan, options.clientName),
        body: request.body === undefined ? null : JSON.stringify(request.body),
        redirect: 'manual',
        signal: limit.signal,
      });
      position.answered = later(position.answered, response.headers.get('countersign-position'));
      return await readAnswer(response);
    } catch (error) {
      if (request.signal?.aborted === true) throw reasonOf(request.signal);
      return { kind: 'again', error: unreachable(base, error), delayMs: undefined };
    } finally {
      cancelTimer();
      limit.release();
    }
  };

  const send = async (request: TransportRequest): Promise<unknown> => {
    const idempotencyKey = request.idempotencyKey ?? randomUUID();
    const attempts = request.attempts ?? options.attempts ?? attemptsDefault;
    let heard = position.heard;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await attemptOnce(request, idempotencyKey, later(position.answered, heard));
      if (outcome.kind === 'answered') return outcome.body;
      if (outcome.kind === 'refused' || attempt >= attempts) throw outcome.error;
      // Attack: a forged event names a position that no log will ever reach, and every read would wait for it.
      if (outcome.error.status === 503) heard = null;
      await sleep(clock, outcome.delayMs ?? backoffMs(attempt, requestBackoff, random), request.signal);
    }
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

async function readAnswer(response: Response): Promise<Attempt> {
  const { status } = response;
  const text = await response.text();
  const body = parseJson(text);
  if (response.ok) {
    if (text === '') return { kind: 'answered', body: null };
    if (body === undefined) return { kind: 'refused', error: unreadable(status) };
    return { kind: 'answered', body };
  }
  const error = errorOfAnswer(status, body);
  if (status !== 429 && (status < 500 || status === 501)) return { kind: 'refused', error };
  return {
    kind: 'again',
    error,
    delayMs: retryAfterMs(response.headers.get('retry-after'), Date.now(), retryAfterMsMax),
  };
}

function requestHeaders(
  request: TransportRequest,
  idempotencyKey: string,
  position: string | null,
  clientName: string | undefined,
): Record<string, string> {
  const headers = { ...headersOf(request.token, clientName), accept: 'application/json' };
  if (request.method === 'GET') return position === null ? headers : { ...headers, 'countersign-position': position };
  const json = request.body === undefined ? {} : { 'content-type': 'application/json' };
  return { ...headers, ...json, 'idempotency-key': idempotencyKey };
}

function headersOf(token: string, clientName: string | undefined): Record<string, string> {
  const headers = { authorization: `Bearer ${token}` };
  return clientName === undefined ? headers : { ...headers, 'countersign-client': clientName };
}

function later(known: string | null, answered: string | null): string | null {
  if (answered === null || known === null) return answered ?? known;
  return Number(answered) < Number(known) ? known : answered;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unreachable(base: string, cause: unknown): CountersignError {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return new CountersignError({ code: 'unreachable', message: `no answer from ${base}: ${messageOf(inner)}`, cause });
}

export function unreadable(status: number): CountersignError {
  return new CountersignError({
    code: 'unreadable-response',
    status,
    message: `an answer with status ${String(status)} that is not Countersign's: is the URL right?`,
  });
}
