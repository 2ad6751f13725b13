import { createHttpClient, NoAnswerError } from '@countersign/http-client';
import { ProblemError, UnreachableError } from '@countersign/react/parts';
import type { Method, Problem, Sent } from '@countersign/react/parts';

const timeoutMs = 20_000;

/** Requests to our own origin, with the session's cookie. */
export const http = createHttpClient({ base: '' });

/** The browser sends these also when the page ends before the response comes. */
const leavingHttp = createHttpClient({ base: '', fetch: (input, init) => fetch(input, { ...init, keepalive: true }) });

let account: string | undefined;

/** Names the person whose page this is. */
export function actAs(actor: { readonly tenant: string; readonly principal: string } | null): void {
  account = actor === null ? undefined : encodeURIComponent(JSON.stringify([actor.tenant, actor.principal]));
}

/**
 * The headers of every request. A page of another site cannot set the first one, so the server accepts it as proof of our page.
 * By the second one it refuses a page that another person has left open: the session is one for all tabs of a browser.
 */
export function ourHeaders(): Readonly<Record<string, string>> {
  return { 'countersign-client': 'inbox', ...(account !== undefined && { 'countersign-account': account }) };
}

/** Called when the server reports that the person is signed out. */
let onSignedOut = (): void => undefined;

/** Sets the callback for the end of the session. */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

/**
 * Makes one request.
 * @throws ProblemError when the server refuses; UnreachableError when it does not respond.
 */
export async function send<T>(method: Method, path: string, sent: Sent = {}): Promise<T> {
  const { body, signal, position, isLeaving = false } = sent;
  const headers = {
    ...ourHeaders(),
    ...(position !== undefined && { 'countersign-position': String(position) }),
  };
  const answer = await (isLeaving ? leavingHttp : http)
    .send({ method, path, headers, body, signal, timeoutMs })
    .catch(orUnreachable);
  if (answer.status === 204) return undefined as T;
  if (answer.ok && answer.body !== undefined) return answer.body as T;
  throw refusalOf(answer.status, answer.body, path);
}

/** @throws UnreachableError when no response comes. */
export function orUnreachable(error: unknown): never {
  throw error instanceof NoAnswerError ? new UnreachableError('no answer', { cause: error.cause }) : error;
}

/** Returns the reason of a refusal, and reports the end of the session to its listener. */
export function refusalOf(status: number, answer: unknown, path: string): Error {
  const problem = answer as Problem | undefined;
  if (typeof problem?.code !== 'string') return new UnreachableError(`answered ${status}`);
  if (problem.code === 'unauthenticated' && path !== '/session') onSignedOut();
  return new ProblemError(problem);
}
