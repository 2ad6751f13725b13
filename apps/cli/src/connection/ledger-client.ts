import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Problem } from '../cli-error.js';
import { CliError, localError, refusedError } from '../cli-error.js';
import type { Connection } from './connection.js';
import { unreachableError } from './unreachable.js';

/** What a request says beyond its method and path. */
export interface RequestOptions {
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** A value, sent as JSON; or JSON text, sent as it is. */
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** The answer is wanted whatever its status says. */
  readonly anyStatus?: boolean;
}

/** The API of a Countersign server over HTTP. Every failure is a `CliError`. */
export interface LedgerClient {
  readonly url: string;
  /** The answer's JSON object, whatever the server calls it: the caller names its type. */
  readonly get: <T extends object>(path: string, options?: RequestOptions) => Promise<T>;
  /** Repeated under the same idempotency key when the connection broke, so that one answer is never given twice. */
  readonly post: <T extends object>(path: string, options?: RequestOptions) => Promise<T>;
  readonly delete: <T extends object>(path: string) => Promise<T>;
  /** The answer itself, once it is known to be a success; for streams and for what is not JSON. */
  readonly open: (path: string, options?: RequestOptions) => Promise<Response>;
  /** The server's wall time in ms, as far as its answers told it: a countdown should not depend on this machine's clock. */
  readonly serverNow: () => number;
}

const timeoutMsDefault = 30_000;
const postAttemptsMax = 3;
const refusedAttemptsMax = 10;
/** A person waits no longer for a command. */
const retryAfterSMax = 10;
/** Answers tell the time in whole seconds, so a smaller difference means nothing. */
const skewMsMin = 2000;

/** A client of the server at `connection`; `now` is this machine's wall time in ms. */
export function createLedgerClient(connection: Connection, now: () => number): LedgerClient {
  let skewMs = 0;
  const send = async (method: string, path: string, options: RequestOptions): Promise<Response> => {
    const response = await fetchInTurn(connection, method, path, options);
    const date = Date.parse(response.headers.get('date') ?? '');
    if (!Number.isNaN(date)) skewMs = Math.abs(date - now()) < skewMsMin ? 0 : date - now();
    if (!response.ok && options.anyStatus !== true) throw await refusal(response, connection);
    return response;
  };
  return {
    url: connection.url,
    get: async <T extends object>(path: string, options: RequestOptions = {}) =>
      readJson<T>(await send('GET', path, options), connection),
    post: async <T extends object>(path: string, options: RequestOptions = {}) => {
      const keyed = { ...options, headers: { 'idempotency-key': randomUUID(), ...options.headers } };
      return readJson<T>(await repeated(() => send('POST', path, keyed)), connection);
    },
    delete: async <T extends object>(path: string) => readJson<T>(await send('DELETE', path, {}), connection),
    open: (path, options = {}) => send('GET', path, options),
    serverNow: () => now() + skewMs,
  };
}

async function repeated(attempt: () => Promise<Response>): Promise<Response> {
  for (let nth = 1; ; nth += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (nth >= postAttemptsMax || !(error instanceof CliError) || error.problem.code !== 'connection-lost')
        throw error;
    }
  }
}

/** Waits as long as the server asks for when there were too many requests: it carried out none that it refused so. */
async function fetchInTurn(
  connection: Connection,
  method: string,
  path: string,
  options: RequestOptions,
): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetchFrom(connection, method, path, options);
    if (response.status !== 429 || attempt >= refusedAttemptsMax) return response;
    const seconds = Number(response.headers.get('retry-after') ?? NaN);
    if (!(seconds >= 0 && seconds <= retryAfterSMax)) return response;
    await response.arrayBuffer().catch(() => undefined);
    await delay(seconds * 1000, undefined, options.signal === undefined ? {} : { signal: options.signal });
  }
}

async function fetchFrom(
  connection: Connection,
  method: string,
  path: string,
  options: RequestOptions,
): Promise<Response> {
  const { body, signal, timeoutMs = timeoutMsDefault } = options;
  const limits = [signal, Number.isFinite(timeoutMs) ? AbortSignal.timeout(timeoutMs) : undefined];
  try {
    return await fetch(`${connection.url}${path}${queryOf(options.query)}`, {
      method,
      headers: { ...headersOf(connection), ...(body === undefined ? {} : jsonContent), ...options.headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      // The token is for the server that the person named, not for wherever that one points.
      redirect: 'manual',
      signal: AbortSignal.any(limits.filter((limit) => limit !== undefined)),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw unreachableError(connection.url, error, method !== 'GET');
  }
}

const jsonContent = { 'content-type': 'application/json' };

function headersOf({ token }: Connection): Record<string, string> {
  const headers = { 'countersign-client': 'cli', accept: 'application/json, application/problem+json' };
  return token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
}

function queryOf(query: RequestOptions['query'] = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}

async function readJson<T extends object>(response: Response, connection: Connection): Promise<T> {
  const text = await textOf(response, connection);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as T;
  } catch {
    // Said below: whatever it is, it is not what a Countersign server answers.
  }
  throw strangeError(connection.url, response.status);
}

async function textOf(response: Response, connection: Connection): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw unreachableError(connection.url, error, false);
  }
}

function strangeError(url: string, status: number): CliError {
  const detail = `What answers at ${url} is not a Countersign server (status ${String(status)}, no JSON).`;
  return localError('unexpected', 'not-countersign', detail, 'Check --url or COUNTERSIGN_URL.');
}

async function refusal(response: Response, connection: Connection): Promise<CliError> {
  const problem = asProblem(await textOf(response, connection), response.status);
  if (problem === undefined) return strangeError(connection.url, response.status);
  return refusedError(problem, remedyOf(problem, connection));
}

function asProblem(text: string, status: number): Problem | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('code' in value) || typeof value.code !== 'string')
      return undefined;
    const detail = 'detail' in value && typeof value.detail === 'string' ? value.detail : value.code;
    return { type: 'about:blank', title: value.code, ...value, status, code: value.code, detail };
  } catch {
    return undefined;
  }
}

function remedyOf(problem: Problem, { token, tokenSource }: Connection): string {
  if (problem.code === 'unauthenticated') {
    return token === undefined
      ? 'Set COUNTERSIGN_TOKEN or give --token. On the machine of a standalone server, run this in its folder, or set COUNTERSIGN_DATA.'
      : `The token from ${tokenSource} is not one that this server knows.`;
  }
  if (problem.code === 'forbidden') return `The token from ${tokenSource} does not have the role that this needs.`;
  if (problem.code === 'reason-required') return 'Give one with --reason.';
  if (problem.status === 503 || problem.status === 429) return 'Try again in a moment.';
  return '';
}
