import { reasonOf, sleepOrThrow, systemClock, type Clock } from '@countersign/contracts/clock';
import { linkedController } from './linked-controller.js';
import { boundedText, RefusedResponseError } from './refused-response.js';
import { fetchUnencoded } from './unencoded.js';

/** The server and the defaults of its requests. */
export interface HttpClientOptions {
  /** In front of every path, such as `http://127.0.0.1:7400`. Empty in a browser: the origin of the page. */
  readonly base: string;
  /** Default: `fetchUnencoded`. */
  readonly fetch?: typeof fetch | undefined;
  readonly clock?: Clock | undefined;
}

/** One request. */
export interface HttpRequest {
  /** Default: GET. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE' | undefined;
  readonly path: string;
  /** Undefined members are omitted. */
  readonly query?: Readonly<Record<string, string | number | undefined>> | undefined;
  /** A function is asked at each attempt. */
  readonly headers?: RequestHeaders | (() => RequestHeaders) | undefined;
  /** A text is sent as it is, anything else as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** For one attempt, to the end of its response. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Called after each attempt without a 2xx status. Returns how many ms to wait before the next attempt, or undefined
   * to stop. Default: one attempt.
   */
  readonly again?: ((outcome: Attempt, attempt: number) => number | undefined) | undefined;
}

export type RequestHeaders = Readonly<Record<string, string>>;

/** The result of an attempt: the head of a response, or none. */
export type Attempt = Pick<Response, 'status' | 'headers'> | NoAnswerError;

/** A response, read to its end. */
export interface Answer {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The text as JSON; undefined when it is none. */
  readonly body: unknown;
}

/** There was no response, or only a part of one. `cause` is the error of `fetch`. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';

  constructor(cause: unknown) {
    super('no answer', { cause });
  }
}

/** Requests to one server. Redirects are not followed, because a token is for the named server only. */
export interface HttpClient {
  /** Returns the response with any status. @throws NoAnswerError; RefusedResponseError; the signal's reason. */
  readonly send: (request: HttpRequest) => Promise<Answer>;
  /**
   * Returns the response as soon as it begins, for streams. Only the signal limits its time. @throws NoAnswerError;
   * RefusedResponseError; the signal's reason.
   */
  readonly open: (request: HttpRequest) => Promise<Response>;
}

const timeoutMsDefault = 30_000;

/** A client of the server at `base`. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const clock = options.clock ?? systemClock;
  const fetchOnce = options.fetch ?? fetchUnencoded;

  const attemptOnce = async <T>(
    request: HttpRequest,
    signal: AbortSignal | undefined,
    read: (response: Response) => Promise<T> | T,
  ): Promise<T> => {
    const url = `${options.base}${request.path}${queryText(request.query)}`;
    // A body that is no JSON is an error of the caller, and no repetition helps.
    const init = { ...initOf(request), signal: signal ?? null };
    try {
      return await read(await fetchOnce(url, init));
    } catch (error) {
      if (request.signal?.aborted === true) throw reasonOf(request.signal);
      throw error instanceof RefusedResponseError ? error : new NoAnswerError(error);
    }
  };

  const attemptInTime = async (request: HttpRequest): Promise<Answer> => {
    const { timeoutMs = timeoutMsDefault } = request;
    const limit = linkedController(request.signal);
    const cancelTimer = clock.setTimer(timeoutMs, () => {
      limit.abort(new DOMException(`no answer within ${String(timeoutMs)} ms`, 'TimeoutError'));
    });
    return attemptOnce(request, limit.signal, readAnswer).finally(() => {
      cancelTimer();
      limit.release();
    });
  };

  const repeated = async <T extends Response | Answer>(request: HttpRequest, attempt: () => Promise<T>): Promise<T> => {
    for (let nth = 1; ; nth += 1) {
      const outcome = await attempt().catch(orNoAnswer);
      const isGood = !(outcome instanceof NoAnswerError) && outcome.ok;
      const waitMs = isGood ? undefined : request.again?.(outcome, nth);
      if (waitMs !== undefined) {
        if (outcome instanceof Response) await outcome.body?.cancel();
        await sleepOrThrow(clock, waitMs, request.signal);
      } else if (outcome instanceof NoAnswerError) throw outcome;
      else return outcome;
    }
  };
  return {
    send: (request) => repeated(request, () => attemptInTime(request)),
    open: (request) => repeated(request, () => attemptOnce(request, request.signal, (response) => response)),
  };
}

function orNoAnswer(error: unknown): NoAnswerError {
  if (error instanceof NoAnswerError) return error;
  throw error;
}

function initOf({ method = 'GET', headers, body }: HttpRequest): RequestInit {
  const ours = typeof headers === 'function' ? headers() : headers;
  const withType = body === undefined ? ours : { 'content-type': 'application/json', ...ours };
  return {
    method,
    headers: { accept: 'application/json, application/problem+json', ...withType },
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
    redirect: 'manual',
  };
}

function queryText(query: HttpRequest['query'] = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

async function readAnswer(response: Response): Promise<Answer> {
  const { ok, status, headers } = response;
  const text = await boundedText(response);
  return { ok, status, headers, text, body: parseJson(text) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
