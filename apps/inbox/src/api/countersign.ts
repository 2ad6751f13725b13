import type {
  AnswerSignature,
  ApprovalState,
  ApprovalView,
  Decision,
  RevealedView,
  Remember,
  RunView,
  ToolCallState,
  ToolCallView,
} from '@countersign/contracts';
import { actAs, send } from './http.js';
import type { Problem } from './problem.js';

/** The signed-in person. */
export interface Account {
  readonly principal: string;
  readonly tenant: string;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
}

/** The session as the server reports it. */
export interface SessionView {
  readonly actor: Account | null;
  readonly isOidcOffered: boolean;
}

/** Approvals in the order that was asked for. */
export interface ApprovalPage {
  readonly approvals: readonly ApprovalView[];
  readonly nextCursor: string | null;
  readonly position: number;
}

/** The result of one item of a bulk response. */
export interface BulkResult {
  readonly approvalId: string;
  readonly status: string;
  readonly approval?: ApprovalView;
  readonly problem?: Problem;
}

/** The comment or reason with a decision. */
export interface Remarks {
  readonly reason: string;
  readonly instruction: string;
}

const approvalPath = (id: string) => `/v1/approvals/${encodeURIComponent(id)}`;
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

/** Selects a page of a list. */
export interface Wanted {
  readonly order: 'oldest' | 'newest';
  readonly cursor?: string | null;
  readonly limit: number;
  readonly signal?: AbortSignal;
}

/** A page of the approvals in a state. Large ones are previews. */
export const listApprovals = (
  state: ApprovalState,
  { order, cursor, limit, signal }: Wanted,
): Promise<ApprovalPage> => {
  const page = { state, order, preview: 'true', limit: String(limit), ...(typeof cursor === 'string' && { cursor }) };
  const query = new URLSearchParams(page);
  return send('GET', `/v1/approvals?${query.toString()}`, { signal });
};

/** One approval at `position` or later. */
export const readApproval = (id: string, position?: number): Promise<ApprovalView> =>
  send('GET', approvalPath(id), { position });

/** Responds to an approval, bound to the action that was shown. `remember` turns an approval into a standing grant. */
export const respond = (
  approval: ApprovalView,
  decision: Decision,
  remarks: Remarks,
  { remember, signature }: { remember?: Remember | undefined; signature?: AnswerSignature | undefined } = {},
): Promise<ApprovalView> =>
  send('POST', `${approvalPath(approval.approvalId)}/responses`, {
    body: {
      decision,
      actionDigest: approval.actionDigest,
      proposalDigest: approval.proposal.digest,
      shownDigest: approval.shownDigest,
      ...given(remarks),
      ...(signature !== undefined && { signature }),
      ...(decision.type === 'approve' && remember !== undefined && { remember }),
    },
  });

/** Gives one response to many approvals, each bound to the action that was shown. `dryRun` records nothing. */
export const respondInBulk = (
  approvals: readonly ApprovalView[],
  decision: Decision,
  { remarks, ...how }: { mode?: 'independent' | 'all-or-nothing'; remarks: Remarks; dryRun?: boolean },
): Promise<{ readonly results: readonly BulkResult[] }> => {
  const approvalIds = approvals.map(({ approvalId }) => approvalId);
  const proposalDigests = Object.fromEntries(
    approvals.map(({ approvalId, proposal }) => [approvalId, proposal.digest]),
  );
  const shownDigests = Object.fromEntries(approvals.map(({ approvalId, shownDigest }) => [approvalId, shownDigest]));
  return send('POST', '/v1/approvals/responses', {
    body: { approvalIds, proposalDigests, shownDigests, decision, ...how, ...given(remarks) },
  });
};

/** The arguments with their hidden values. The server records who looked. */
export const reveal = (approvalId: string): Promise<RevealedView> => send('POST', `${approvalPath(approvalId)}/reveal`);

/** Withdraws one's own response while the approval is pending. A later one stays. */
export const withdraw = (approvalId: string, response: number): Promise<ApprovalView> =>
  send('DELETE', `${approvalPath(approvalId)}/responses/mine?response=${String(response)}`);

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

/** Returns one call. */
export const readCall = (callId: string, signal?: AbortSignal): Promise<ToolCallView> =>
  send('GET', callPath(callId), { signal });

/** All calls of a run. */
export const readRun = (runId: string): Promise<RunView> => send('GET', `/v1/runs/${encodeURIComponent(runId)}`);

function given({ reason, instruction }: Remarks) {
  return {
    ...(reason.trim() !== '' && { reason: reason.trim() }),
    ...(instruction.trim() !== '' && { instruction: instruction.trim() }),
  };
}
