import type { RunView, ToolCallState, ToolCallView } from '@countersign/contracts';
import type { Account } from '@countersign/react/parts';
import { actAs, send } from './http.js';

/** The session as the server reports it. */
export interface SessionView {
  readonly actor: Account | null;
  readonly isOidcOffered: boolean;
}

const callPath = (id: string) => `/v1/tool-calls/${encodeURIComponent(id)}`;

/** The signed-in person, and the ways to sign in. */
export async function readSession(): Promise<SessionView> {
  const session = await send<SessionView>('GET', '/session');
  actAs(session.actor);
  return session;
}

/** Signs in. @throws ProblemError `unauthenticated` for an unknown token. */
export async function signIn(token: string): Promise<{ readonly actor: Account }> {
  const opened = await send<{ readonly actor: Account }>('POST', '/session', { body: { token } });
  actAs(opened.actor);
  return opened;
}

/** Ends the session, here and on the server. */
export const signOut = (): Promise<void> => send('DELETE', '/session');

/** A person's finding about a call whose outcome is unknown. */
export type ReconciledStatus = 'succeeded' | 'failed' | 'retry';

/** Records what happened to a call whose outcome is unknown. */
export const reconcile = (callId: string, status: ReconciledStatus, note: string): Promise<ToolCallView> =>
  send('POST', `${callPath(callId)}/reconcile`, { body: { status, note } });

/** The first calls in a state. */
export const listCalls = (
  state: ToolCallState,
  limit: number,
  signal?: AbortSignal,
): Promise<{ readonly calls: readonly ToolCallView[]; readonly nextCursor: string | null }> => {
  const query = new URLSearchParams({ state, limit: String(limit) });
  return send('GET', `/v1/tool-calls?${query.toString()}`, { signal });
};

/** All calls of a run. */
export const readRun = (runId: string): Promise<RunView> => send('GET', `/v1/runs/${encodeURIComponent(runId)}`);
