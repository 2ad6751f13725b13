import { randomUUID } from 'node:crypto';
import { createHttpClient, NoAnswerError } from '@countersign/http-client';
import type { Answer, HttpRequest, Attempt, RequestHeaders } from '@countersign/http-client';
import type { Problem } from '../cli-error.js';
import { localError, refusedError } from '../cli-error.js';
import type { CliError } from '../cli-error.js';
import type { Connection } from './connection.js';
import { unreachableError } from './unreachable.js';

/** The parts of a request beyond its method and path. */
export interface RequestOptions extends Pick<HttpRequest, 'query' | 'body' | 'signal' | 'timeoutMs'> {
  readonly headers?: RequestHeaders;
}

/** The API of a Countersign server over HTTP. Every failure is a `CliError`. */
export interface LedgerClient {
  readonly url: string;
  /** The JSON object of the response. The caller names its type. */
  readonly get: <T extends object>(path: string, options?: RequestOptions) => Promise<T>;
  /** Retries with the same idempotency key when the connection broke, so a response is never recorded twice. */
  readonly post: <T extends object>(path: string, options?: RequestOptions) => Promise<T>;
  readonly delete: <T extends object>(path: string, options?: RequestOptions) => Promise<T>;
  /** Returns the response to a GET, with any status and any text. */
  readonly look: (path: string) => Promise<Answer>;
  /** Opens a stream. Returns once the status is a success. */
  readonly open: (path: string, options?: RequestOptions & { readonly method?: 'GET' | 'POST' }) => Promise<Response>;
  /**
   * The server's wall time in ms, from the `Date` headers of its responses, so that countdowns do not depend on this
   * machine's clock.
   */
  readonly serverNow: () => number;
}

const postAttemptsMax = 3;
const refusedAttemptsMax = 10;
/** A person does not wait longer than this for a command. */
const retryAfterSMax = 10;
/** The `Date` header has whole seconds, so a smaller difference means nothing. */
const skewMsMin = 2000;

/** A client of the server at `connection`; `now` is this machine's wall time in ms. */
export function createLedgerClient(connection: Connection, now: () => number): LedgerClient {
  const http = createHttpClient({ base: connection.url });
  let skewMs = 0;
  const noticeTime = (headers: Headers): void => {
    const date = Date.parse(headers.get('date') ?? '');
    if (!Number.isNaN(date)) skewMs = Math.abs(date - now()) < skewMsMin ? 0 : date - now();
  };
  /** Makes one request. Every request of this program goes through here. */
  const request = async <T extends Answer | Response>(
    how: (request: HttpRequest) => Promise<T>,
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    options: RequestOptions = {},
  ): Promise<T> => {
    const headers = { ...headersOf(connection), ...options.headers };
    const again = (outcome: Attempt, attempt: number): number | undefined =>
      waitMs(connection.url, method, outcome, attempt);
    try {
      const answer = await how({ ...options, method, path, headers, again });
      noticeTime(answer.headers);
      return answer;
    } catch (error) {
      throw error instanceof NoAnswerError ? unreachableError(connection.url, error.cause, method !== 'GET') : error;
    }
  };
  const objectOf = async <T extends object>(answer: Promise<Answer>): Promise<T> =>
    readObject(await answer, connection) as T;
  return {
    url: connection.url,
    get: (path, options) => objectOf(request(http.send, 'GET', path, options)),
    post: (path, options = {}) => {
      const headers = { 'idempotency-key': randomUUID(), ...options.headers };
      return objectOf(request(http.send, 'POST', path, { ...options, headers }));
    },
    delete: (path, options = {}) => {
      const headers = { 'idempotency-key': randomUUID(), ...options.headers };
      return objectOf(request(http.send, 'DELETE', path, { ...options, headers }));
    },
    look: (path) => request(http.send, 'GET', path),
    open: async (path, { method = 'GET', ...options } = {}) => {
      const response = await request(http.open, method, path, options);
      if (response.ok) return response;
      throw refusal(response.status, await response.json().catch(() => undefined), connection);
    },
    serverNow: () => now() + skewMs,
  };
}

/**
 * Returns how long to wait before a retry. After 429 it is the time that the server asks for, since the server carried
 * out nothing. It is 0 when the connection broke under a request with an idempotency key.
 */
function waitMs(url: string, method: string, outcome: Attempt, attempt: number): number | undefined {
  if (outcome instanceof NoAnswerError) {
    const isLost = unreachableError(url, outcome.cause, true).problem.code === 'connection-lost';
    return method === 'POST' && isLost && attempt < postAttemptsMax ? 0 : undefined;
  }
  if (outcome.status !== 429 || attempt >= refusedAttemptsMax) return undefined;
  const seconds = Number(outcome.headers.get('retry-after') ?? NaN);
  return seconds >= 0 && seconds <= retryAfterSMax ? seconds * 1000 : undefined;
}

function headersOf({ token }: Connection): Record<string, string> {
  const headers = { 'countersign-client': 'cli' };
  return token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
}

function readObject({ ok, status, body }: Answer, connection: Connection): object {
  if (!ok) throw refusal(status, body, connection);
  if (typeof body === 'object' && body !== null) return body;
  throw strangeError(connection.url, status);
}

function strangeError(url: string, status: number): CliError {
  const detail = `The server at ${url} is not Countersign (status ${String(status)}, no JSON).`;
  return localError('unexpected', 'not-countersign', detail, 'Check --url or COUNTERSIGN_URL.');
}

function refusal(status: number, body: unknown, connection: Connection): CliError {
  const problem = asProblem(body, status);
  if (problem === undefined) return strangeError(connection.url, status);
  return refusedError(problem, remedyOf(problem, connection));
}

function asProblem(body: unknown, status: number): Problem | undefined {
  if (typeof body !== 'object' || body === null || !('code' in body) || typeof body.code !== 'string') return undefined;
  const detail = 'detail' in body && typeof body.detail === 'string' ? body.detail : body.code;
  return { type: 'about:blank', title: body.code, ...body, status, code: body.code, detail };
}

/** The page of the approval that a refusal names. */
function placeOf(problem: Problem): string {
  const { approvalId } = problem as { readonly approvalId?: unknown };
  return typeof approvalId === 'string' ? `/approvals/${encodeURIComponent(approvalId)}` : '';
}

function remedyOf(problem: Problem, { url, token, tokenSource }: Connection): string {
  if (problem.code === 'unauthenticated') {
    return token === undefined
      ? 'Set COUNTERSIGN_TOKEN or give --token. On the machine of a standalone server, run this in its folder, or set COUNTERSIGN_DATA.'
      : `The token from ${tokenSource} is not one that this server knows.`;
  }
  if (problem.code === 'forbidden') return `The token from ${tokenSource} does not have the role that this needs.`;
  if (problem.code === 'reason-required') return 'Give one with --reason.';
  if (problem.code === 'signature-required') return `Open ${url}${placeOf(problem)} and sign it there.`;
  if (problem.status === 503 || problem.status === 429) return 'Try again in a moment.';
  return '';
}
