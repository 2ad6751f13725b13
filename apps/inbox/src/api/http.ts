import { createHttpClient, NoAnswerError } from '@countersign/http-client';
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

/** Requests to our own origin, with the session's cookie. */
export const http = createHttpClient({ base: '' });

// No page of another site can set it: the server takes it as proof that ours sent this.
export const ourHeaders = { 'countersign-client': 'inbox' } as const;

/** Called when the server says that nobody is signed in any more. */
let onSignedOut = (): void => undefined;

/** Sets who is told when the session is over. */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

/**
 * One request.
 * @throws ProblemError when the server says no; UnreachableError when it says nothing.
 */
export async function send<T>(method: Method, path: string, { body, signal, position }: Sent = {}): Promise<T> {
  const headers = {
    ...ourHeaders,
    ...(position !== undefined && { 'countersign-position': String(position) }),
  };
  const answer = await http.send({ method, path, headers, body, signal, timeoutMs }).catch(orUnreachable);
  if (answer.status === 204) return undefined as T;
  if (answer.ok && answer.body !== undefined) return answer.body as T;
  throw refusalOf(answer.status, answer.body, path);
}

/** @throws UnreachableError for a request that was not answered. */
export function orUnreachable(error: unknown): never {
  throw error instanceof NoAnswerError ? new UnreachableError('no answer', { cause: error.cause }) : error;
}

/** Why a request was refused; whoever waits for the end of the session is told of it. */
export function refusalOf(status: number, answer: unknown, path: string): Error {
  const problem = answer as Problem | undefined;
  if (typeof problem?.code !== 'string') return new UnreachableError(`answered ${status}`);
  if (problem.code === 'unauthenticated' && path !== '/session') onSignedOut();
  return new ProblemError(problem);
}
