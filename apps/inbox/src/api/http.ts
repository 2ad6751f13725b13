import type { Problem } from './problem.js';
import { ProblemError, UnreachableError } from './problem.js';

type Method = 'GET' | 'POST' | 'DELETE';

/** What a request may carry. */
export interface Sent {
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** The answer must show the log up to here. */
  readonly position?: number | undefined;
}

const timeoutMs = 20_000;

/** Called when the server says that nobody is signed in any more. */
let onSignedOut = (): void => undefined;

/** Sets who is told when the session is over. */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

/**
 * One request to our own origin, with the session's cookie.
 * @throws ProblemError when the server says no; UnreachableError when it says nothing.
 */
export async function send<T>(method: Method, path: string, { body, signal, position }: Sent = {}): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const response = await fetch(path, {
    method,
    headers: {
      // No page of another site can set it: the server takes it as proof that ours sent this.
      'countersign-client': 'inbox',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(position !== undefined && { 'countersign-position': String(position) }),
    },
    body: body === undefined ? null : JSON.stringify(body),
    credentials: 'same-origin',
    signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
  }).catch((error: unknown) => {
    throw new UnreachableError('no answer', { cause: error });
  });
  if (response.status === 204) return undefined as T;
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer as T;
  throw refusalOf(response.status, answer, path);
}

/** Why a request was refused; whoever waits for the end of the session is told of it. */
export function refusalOf(status: number, answer: unknown, path: string): Error {
  const problem = answer as Problem | undefined;
  if (typeof problem?.code !== 'string') return new UnreachableError(`answered ${status}`);
  if (problem.code === 'unauthenticated' && path !== '/session') onSignedOut();
  return new ProblemError(problem);
}
