import type {
  AnswerSignature,
  ApprovalState,
  ApprovalView,
  Decision,
  Remember,
  RevealedView,
  ToolCallView,
} from '@countersign/contracts';
import type { ApprovalsClient } from './approvals-client.js';
import type { Problem } from './problem.js';

/** The person of a page. */
export interface Account {
  readonly principal: string;
  readonly tenant: string;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
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

/** Selects approvals. */
export interface Filter {
  readonly runId?: string | undefined;
  readonly toolCallId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly agentId?: string | undefined;
  /** Only those which the person may decide now. */
  readonly mine?: boolean | undefined;
}

/** Selects a page of a list. */
export interface Wanted {
  readonly order: 'oldest' | 'newest';
  /** The highest risk first, within one the first to expire. Default: by the time of the request. */
  readonly sort?: 'risk';
  readonly cursor?: string | null;
  readonly limit: number;
  readonly filter?: Filter;
  readonly signal?: AbortSignal;
}

const approvalPath = (id: string) => `/v1/approvals/${encodeURIComponent(id)}`;
const callPath = (id: string) => `/v1/tool-calls/${encodeURIComponent(id)}`;

/** A page of the approvals in a state. Large ones are previews. */
export const listApprovals = (
  client: ApprovalsClient,
  state: ApprovalState,
  { order, sort, cursor, limit, filter = {}, signal }: Wanted,
): Promise<ApprovalPage> => {
  const page = { state, order, preview: 'true', limit: String(limit), ...(typeof cursor === 'string' && { cursor }) };
  const query = new URLSearchParams({ ...page, ...(sort !== undefined && { sort }) });
  for (const [name, value] of Object.entries(filter)) if (value !== undefined) query.set(name, String(value));
  return client.send('GET', `/v1/approvals?${query.toString()}`, { signal });
};

/** One approval at `position` or later. */
export const readApproval = (client: ApprovalsClient, id: string, position?: number): Promise<ApprovalView> =>
  client.send('GET', approvalPath(id), { position });

/** Responds to an approval, bound to what was shown of it. `remember` turns an approval into a standing grant. */
export const respond = (
  client: ApprovalsClient,
  approval: ApprovalView,
  decision: Decision,
  remarks: Remarks,
  {
    remember,
    signature,
    isLeaving,
  }: { remember?: Remember | undefined; signature?: AnswerSignature | undefined; isLeaving?: boolean } = {},
): Promise<ApprovalView> =>
  client.send('POST', `${approvalPath(approval.approvalId)}/responses`, {
    isLeaving,
    body: {
      decision,
      actionDigest: approval.actionDigest,
      proposalDigest: approval.proposal.digest,
      shownDigest: approval.shownDigest,
      ...(!isRestriction(decision) && boundAsApproval(approval)),
      ...given(remarks),
      ...(signature !== undefined && { signature }),
      ...(decision.type === 'approve' && remember !== undefined && { remember }),
    },
  });

/**
 * Gives one response to many approvals, each bound to what was shown of it: those of `shown` were shown whole (default: all).
 * `dryRun` records nothing.
 */
export const respondInBulk = (
  client: ApprovalsClient,
  approvals: readonly ApprovalView[],
  decision: Decision,
  {
    remarks,
    shown = approvals,
    ...how
  }: {
    mode?: 'independent' | 'all-or-nothing';
    remarks: Remarks;
    dryRun?: boolean;
    shown?: readonly ApprovalView[];
  },
): Promise<{ readonly results: readonly BulkResult[] }> => {
  const approvalIds = approvals.map(({ approvalId }) => approvalId);
  const proposalDigests = Object.fromEntries(shown.map(({ approvalId, proposal }) => [approvalId, proposal.digest]));
  const shownDigests = Object.fromEntries(shown.map(({ approvalId, shownDigest }) => [approvalId, shownDigest]));
  const isBound = !isRestriction(decision);
  const together = isBound ? shown.filter(({ shownOthersDigest }) => shownOthersDigest !== undefined) : [];
  const shownRevisions = isBound
    ? Object.fromEntries(shown.map(({ approvalId, shownRevision }) => [approvalId, shownRevision]))
    : undefined;
  const shownOthersDigests =
    together.length === 0
      ? undefined
      : Object.fromEntries(together.map(({ approvalId, shownOthersDigest }) => [approvalId, shownOthersDigest]));
  return client.send('POST', '/v1/approvals/responses', {
    body: {
      approvalIds,
      proposalDigests,
      shownDigests,
      shownRevisions,
      shownOthersDigests,
      decision,
      ...how,
      ...given(remarks),
    },
  });
};

/** The arguments with their hidden values. The server records who looked. */
export const reveal = (client: ApprovalsClient, approvalId: string): Promise<RevealedView> =>
  client.send('POST', `${approvalPath(approvalId)}/reveal`);

/** Withdraws one's own response while the approval is pending. A later one stays. */
export const withdraw = (client: ApprovalsClient, approvalId: string, response: number): Promise<ApprovalView> =>
  client.send('DELETE', `${approvalPath(approvalId)}/responses/mine?response=${String(response)}`);

/** The person of the page, as Countersign knows them. */
export const readMe = (client: ApprovalsClient, signal: AbortSignal): Promise<Account> =>
  client.send('GET', '/v1/me', { signal });

/** Returns one call. */
export const readCall = (client: ApprovalsClient, callId: string, signal?: AbortSignal): Promise<ToolCallView> =>
  client.send('GET', callPath(callId), { signal });

/** `undefined` is left out of JSON: the call is decided alone. */
const boundAsApproval = ({ shownRevision, shownOthersDigest }: ApprovalView) => ({ shownRevision, shownOthersDigest });

/** A denial only restricts: a withdrawal of another person makes no old one of it. */
const isRestriction = ({ type }: Decision): boolean => type === 'deny';

function given({ reason, instruction }: Remarks) {
  return {
    ...(reason.trim() !== '' && { reason: reason.trim() }),
    ...(instruction.trim() !== '' && { instruction: instruction.trim() }),
  };
}
