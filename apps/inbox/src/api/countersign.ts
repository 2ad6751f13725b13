import type {
  ApprovalState,
  ApprovalView,
  Decision,
  RevealedView,
  RunView,
  ToolCallView,
} from '@countersign/contracts';
import { send } from './http.js';
import type { Problem } from './problem.js';

/** Who is signed in. */
export interface Account {
  readonly principal: string;
  readonly tenant: string;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
}

/** What the server says about the session. */
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

/** What came of one answer among many. */
export interface BulkResult {
  readonly approvalId: string;
  readonly status: string;
  readonly approval?: ApprovalView;
  readonly problem?: Problem;
}

/** What a person adds to a decision. */
export interface Remarks {
  readonly reason: string;
  readonly instruction: string;
}

const approvalPath = (id: string) => `/v1/approvals/${encodeURIComponent(id)}`;
const callPath = (id: string) => `/v1/tool-calls/${encodeURIComponent(id)}`;

/** Who is signed in, and how one can. */
export const readSession = (): Promise<SessionView> => send('GET', '/session');

/** Signs in. @throws ProblemError `unauthenticated` for a token that is nobody's. */
export const signIn = (token: string): Promise<{ readonly actor: Account }> =>
  send('POST', '/session', { body: { token } });

/** Ends the session, here and on the server. */
export const signOut = (): Promise<void> => send('DELETE', '/session');

/** Which page of a list. */
export interface Wanted {
  readonly order: 'oldest' | 'newest';
  readonly cursor?: string | null;
  readonly limit: number;
  readonly signal?: AbortSignal;
}

/** A page of the approvals in a state. */
export const listApprovals = (
  state: ApprovalState,
  { order, cursor, limit, signal }: Wanted,
): Promise<ApprovalPage> => {
  const page = { state, order, limit: String(limit), ...(typeof cursor === 'string' && { cursor }) };
  const query = new URLSearchParams(page);
  return send('GET', `/v1/approvals?${query.toString()}`, { signal });
};

/** One approval, as it stands at `position` or later. */
export const readApproval = (id: string, position?: number): Promise<ApprovalView> =>
  send('GET', approvalPath(id), { position });

/** Answers an approval: to exactly the action that was shown, and no other. */
export const respond = (approval: ApprovalView, decision: Decision, remarks: Remarks): Promise<ApprovalView> =>
  send('POST', `${approvalPath(approval.approvalId)}/responses`, {
    body: { decision, actionDigest: approval.actionDigest, ...given(remarks) },
  });

/** Gives one answer to many approvals. */
export const respondInBulk = (
  approvalIds: readonly string[],
  decision: Decision,
  mode: 'independent' | 'all-or-nothing',
  remarks: Remarks,
): Promise<{ readonly results: readonly BulkResult[] }> =>
  send('POST', '/v1/approvals/responses', { body: { approvalIds, decision, mode, ...given(remarks) } });

/** The arguments with their hidden values. The server records who looked. */
export const reveal = (approvalId: string): Promise<RevealedView> => send('POST', `${approvalPath(approvalId)}/reveal`);

/** Takes one's own answer back while the approval is pending. */
export const withdraw = (approvalId: string): Promise<ApprovalView> =>
  send('DELETE', `${approvalPath(approvalId)}/responses/mine`);

/** One call. */
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
