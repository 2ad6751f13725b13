import { hiddenValues, maskAt, maskByName, maskEdited, proposalDigest, shownDigest } from '@countersign/contracts';
import type {
  ApprovalView,
  JsonObject,
  PresentedView,
  ResponseView,
  RunView,
  ToolCallView,
  Verdict,
} from '@countersign/contracts';
import {
  currentProposal,
  digestInputOf,
  expiresAtOf,
  instructionsOf,
  progressOf,
  queuedIn,
  requirementOf,
  shownRevisionOf,
  upcomingOf,
} from '@countersign/domain';
import type { Action, Approval, Proposal, Vote } from '@countersign/domain';
import { errorOf, hiddenInResult, resultOf } from './call-result.js';
import type { Visibility } from './call-result.js';
import type { CallRequest, CallRow, UnreadableMark } from './call-row.js';
import type { ApprovalOfCall } from './read-model.js';

function argumentsOf(action: Action, visibility: Visibility, isEdit: boolean): JsonObject {
  if (visibility === 'whole') return action.arguments;
  const mask = isEdit ? maskEdited : maskAt;
  return mask(action.arguments, action.sensitive, action.salt);
}

/** The metadata have no schema either, and are masked like results. */
function presentedFor(request: CallRequest, visibility: Visibility): PresentedView {
  const { title = null, toolDescription = null, metadata = null } = request;
  return { title, toolDescription, metadata: visibility === 'whole' ? metadata : maskByName(metadata) };
}

function decisionView({ decision, actionDigest }: Vote, visibility: Visibility): ResponseView['decision'] {
  switch (decision.type) {
    case 'edit':
      return { type: 'edit', arguments: argumentsOf({ ...decision, actionDigest }, visibility, true) };
    case 'answer':
      return { type: 'answer', output: resultOf(decision.output, visibility) };
    case 'approve':
    case 'deny':
      return { type: decision.type };
  }
}

function responseViews(votes: readonly Vote[], visibility: Visibility): ResponseView[] {
  return votes
    .map((vote, index) => ({ vote, number: index + 1 }))
    .filter(({ vote }) => vote.status !== 'withdrawn')
    .map(({ vote, number }) => ({
      number,
      respondedBy: vote.respondedBy,
      ...(vote.respondedByName !== undefined && { respondedByName: vote.respondedByName }),
      onBehalfOf: vote.onBehalfOf,
      decision: decisionView(vote, visibility),
      reason: vote.reason,
      respondedAt: vote.respondedAt,
      via: vote.via,
      counted: vote.status === 'counted',
      ...(vote.signature !== null && { signed: true as const }),
    }));
}

function chainOf({ chain = [] }: CallRequest): ApprovalView['chain'] {
  return chain.map(({ owner = null, onBehalfOf = null, ...link }) => ({ ...link, owner, onBehalfOf }));
}

function notesOf({ schemaNotes }: CallRequest): Pick<ApprovalView, 'schemaNotes'> {
  return schemaNotes === undefined ? {} : { schemaNotes };
}

/** The record lists the members of a batch only where there are several. */
function batchOf({ callId, batchId, batchMode: mode, batchCallIds }: CallRequest): ApprovalView['batch'] {
  if (batchCallIds.length > 0) return { batchId, mode, callIds: [...batchCallIds] };
  return batchId === null ? null : { batchId, mode, callIds: [callId] };
}

/** An approval as returned over HTTP, with the arguments and the digest that are currently to be approved. */
export function toApprovalView(
  { call, approval }: ApprovalOfCall,
  visibility: Visibility,
  shown: JsonObject = askedArguments({ call, approval }, visibility),
): ApprovalView {
  const { request } = call;
  const { resolution } = approval;
  const { action } = currentProposal(approval);
  const requirement = requirementOf(approval);
  const isPending = resolution.status === 'pending';
  return {
    approvalId: approval.approvalId,
    callId: request.callId,
    runId: request.runId,
    agentId: request.agentId,
    toolCallId: request.toolCallId,
    requestedBy: approval.requestedBy,
    owner: request.owner ?? null,
    onBehalfOf: request.onBehalfOf ?? null,
    chain: chainOf(request),
    labels: request.labels,
    hiddenValues: visibility === 'whole' ? [] : [...hiddenValues(action.arguments, action.sensitive)],
    ...notesOf(request),
    batch: batchOf(request),
    round: approval.round,
    state: resolution.status,
    toolName: request.toolName,
    arguments: shown,
    actionDigest: action.actionDigest,
    proposal: proposalView(call, approval, visibility),
    ...shownBesides(call, approval),
    endedProposals: endedProposals(call, approval),
    description: approval.description,
    ...presentedFor(request, visibility),
    reason: approval.reason,
    requestedAt: approval.requestedAt,
    expiresAt: expiresAtOf(approval),
    risk: requirement.risk,
    requirement,
    allowedDecisions: requirement.allowedDecisions,
    responses: responseViews(approval.votes, visibility),
    progress: progressOf(approval),
    upcoming: upcomingOf(approval),
    callState: call.state,
    resolution: isPending ? null : resolution.status,
    resolvedAt: isPending ? null : resolution.at,
  };
}

function askedArguments({ call, approval }: ApprovalOfCall, visibility: Visibility): JsonObject {
  const { action } = currentProposal(approval);
  return argumentsOf(action, visibility, isEditOf(call, action));
}

/** A proposal never changes, and is shown many times. */
const digests = new WeakMap<Proposal, string>();

function digestOf({ request }: CallRow, approval: Approval): string {
  const proposal = currentProposal(approval);
  const known = digests.get(proposal);
  if (known !== undefined) return known;
  const digest = proposalDigest(digestInputOf(approval, request.salt));
  digests.set(proposal, digest);
  return digest;
}

function proposalView(call: CallRow, approval: Approval, visibility: Visibility): ApprovalView['proposal'] {
  const { number, kind, output, proposedBy, proposedAt, replaces } = currentProposal(approval);
  const digest = digestOf(call, approval);
  return {
    ...{ number, digest, kind, output: resultOf(output, visibility) },
    ...(kind === 'answer' && { hiddenValues: hiddenInResult(output, visibility) }),
    ...{ proposedBy, proposedAt, replaces },
  };
}

/** What the agent gets told with the proposal, and the digest and the revision of all that a person is shown to agree to. */
function shownBesides(
  call: CallRow,
  approval: Approval,
): Pick<ApprovalView, 'shownDigest' | 'shownRevision' | 'instructions'> {
  const instructions = [...instructionsOf(approval)];
  const digest = shownDigest(digestOf(call, approval), instructions);
  return { shownDigest: digest, shownRevision: shownRevisionOf(approval), instructions };
}

const endedProposalsMax = 16;

/** The edits and answers of the earlier rounds and of this one that ended without an approval, the latest last. */
function endedProposals({ approvals }: CallRow, approval: Approval): ApprovalView['endedProposals'] {
  if (approval.round === 1 && approval.proposals.length === 1) return [];
  return approvals
    .filter(({ round }) => round <= approval.round)
    .flatMap((one) => {
      const { approvalId, proposals, resolution } = one;
      const isOpen = resolution.status === 'pending' || resolution.status === 'approved';
      return proposals
        .slice(1, isOpen ? -1 : undefined)
        .filter(({ proposedBy }) => proposedBy !== one.requestedBy)
        .map(({ number, kind, proposedBy, proposedAt }) => ({ approvalId, number, kind, proposedBy, proposedAt }));
    })
    .slice(-endedProposalsMax);
}

/** A call without a verdict in the log: it fails closed. */
const unjudged: Verdict = {
  outcome: 'require',
  ruleId: 'none',
  policyVersion: 'none',
  automatic: true,
  why: ['not judged yet'],
};

function isEdited({ action, request }: CallRow): boolean {
  return action.arguments !== request.arguments;
}

function isEditOf({ request }: CallRow, action: Action): boolean {
  return action.actionDigest !== request.actionDigest;
}

/** A tool call as returned over HTTP. */
export function toToolCallView(call: CallRow, visibility: Visibility): ToolCallView {
  const { request, action, execution } = call;
  const approval = call.approvals.at(-1);
  const shown = argumentsOf(action, visibility, isEditOf(call, action));
  // The same action is masked once.
  const isSame = approval !== undefined && currentProposal(approval).action.arguments === action.arguments;
  const shownBefore = isSame ? shown : undefined;
  return {
    callId: request.callId,
    runId: request.runId,
    agentId: request.agentId,
    batchId: request.batchId,
    toolCallId: request.toolCallId,
    toolName: request.toolName,
    ...presentedFor(request, visibility),
    ...(request.clientExecuted && { clientExecuted: true }),
    arguments: shown,
    ...(isEdited(call) ? { originalArguments: argumentsOf(request, visibility, false) } : {}),
    ...notesOf(request),
    actionDigest: action.actionDigest,
    state: call.state,
    ...(queuedIn(call) !== undefined && { waitsForTurn: true as const }),
    verdict: call.verdict ?? unjudged,
    approval: approval === undefined ? null : toApprovalView({ call, approval }, visibility, shownBefore),
    output: resultOf(execution.status === 'succeeded' ? execution.output : null, visibility),
    error: errorOf(call, visibility),
    instruction: call.instruction,
    requestedAt: request.requestedAt,
    settledAt: call.settledAt,
    revision: call.revision,
    ...withoutValues(call),
  };
}

/** What of the call cannot be shown, and why. */
function withoutValues({
  erased,
  missing,
  unreadable,
}: CallRow): Pick<ToolCallView, 'erasedValues' | 'missingValues' | 'unreadable'> {
  return {
    ...(erased.length > 0 && { erasedValues: [...erased] }),
    ...(missing.length > 0 && { missingValues: [...missing] }),
    ...(unreadable !== null && { unreadable: markOf(unreadable) }),
  };
}

function markOf({ passedAt: _passedAt, ...mark }: UnreadableMark): Omit<UnreadableMark, 'passedAt'> {
  return mark;
}

function pendingOf(call: CallRow): readonly Approval[] {
  return call.approvals.filter(({ resolution }) => resolution.status === 'pending');
}

/** A run as returned over HTTP. Each call may be masked differently: its requester sees it whole. */
export function toRunView(
  runId: string,
  calls: readonly CallRow[],
  visibilityOf: (call: CallRow) => Visibility,
): RunView {
  const pendingApprovals = calls.flatMap((call) =>
    pendingOf(call).map((approval) => toApprovalView({ call, approval }, visibilityOf(call))),
  );
  const hasPendingApprovals = pendingApprovals.length > 0;
  return {
    runId,
    stopReason: hasPendingApprovals ? 'awaiting_approval' : null,
    hasPendingApprovals,
    pendingApprovals,
    calls: calls.map((call) => toToolCallView(call, visibilityOf(call))),
  };
}
