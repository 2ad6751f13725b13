import { isDeepStrictEqual } from 'node:util';
import type { Verdict } from '@countersign/contracts';
import type { Action, Approval, Proposal, Vote } from '@countersign/domain';
import type { CallRow } from '../call-row.js';
import { packRequirement, unpackRequirement } from './packed-requirement.js';

/*
 * Records as arrays of their values: names are half of a row's JSON, and a row is written several times in its life. The
 * compiler checks that nothing is left out; a change of the order is a new `schemaVersion`. Arguments and outputs can be
 * large, so each is written once, in the response that gave it, and everything else refers to it.
 */

/** The edit that an action comes from, by the index of its approval and vote; null: as requested. */
export type EditRef = readonly [approval: number, vote: number] | null;

/** A run by its digest; an answer by the index of its vote. */
type ProposalRef = string | number;

/** Where an action is stored. */
export function toEditRef(action: Action, { request, approvals }: CallRow): EditRef {
  if (action.arguments === request.arguments) return null;
  for (const [at, { votes }] of approvals.entries()) {
    const vote = votes.findIndex(({ decision: one }) => one.type === 'edit' && one.arguments === action.arguments);
    if (vote !== -1) return [at, vote];
  }
  return null;
}

/** Returns the action that the reference names. */
export function toAction(ref: EditRef, approvals: readonly Pick<Approval, 'votes'>[], requested: Action): Action {
  const vote = ref === null ? undefined : approvals[ref[0]]?.votes[ref[1]];
  if (vote?.decision.type !== 'edit') return requested;
  const { arguments: args, sensitive, salt } = vote.decision;
  return { arguments: args, sensitive, salt, actionDigest: vote.actionDigest };
}

function toProposalRef(proposal: Proposal, votes: readonly Vote[]): ProposalRef {
  if (proposal.kind === 'run') return proposal.actionDigest;
  return votes.findIndex(({ decision }) => decision.type === 'answer' && decision.output === proposal.output);
}

function toProposal(ref: ProposalRef, decisions: readonly Vote['decision'][]): Proposal {
  if (typeof ref === 'string') return { kind: 'run', actionDigest: ref };
  const decision = decisions[ref];
  return { kind: 'answer', output: decision?.type === 'answer' ? decision.output : null };
}

function packVote(vote: Vote, votes: readonly Vote[]) {
  return [
    vote.status,
    vote.stage,
    toProposalRef(vote.proposal, votes),
    vote.decision,
    vote.actionDigest,
    vote.reason,
    vote.instruction,
    vote.respondedBy,
    vote.onBehalfOf,
    vote.groups,
    vote.via,
    vote.assurance,
    vote.automatic,
    vote.respondedAt,
  ] as const;
}

function unpackVote(
  [
    status,
    stage,
    proposal,
    decision,
    actionDigest,
    reason,
    instruction,
    respondedBy,
    onBehalfOf,
    groups,
    via,
    assurance,
    automatic,
    respondedAt,
  ]: ReturnType<typeof packVote>,
  decisions: readonly Vote['decision'][],
): Vote {
  return {
    status,
    stage,
    proposal: toProposal(proposal, decisions),
    decision,
    actionDigest,
    reason,
    instruction,
    respondedBy,
    onBehalfOf,
    groups,
    via,
    assurance,
    automatic,
    respondedAt,
  };
}

/** Equal by value: a row from the file must be written like one that never left the memory. */
function isSameVerdict(one: Verdict, other: Verdict | null): boolean {
  return one === other || isDeepStrictEqual(one, other);
}

function packApproval(approval: Approval, row: CallRow) {
  return [
    approval.approvalId,
    approval.round,
    approval.actionDigest,
    // Null: the latest verdict of the call, as nearly always.
    isSameVerdict(approval.verdict, row.verdict) ? null : approval.verdict,
    packRequirement(approval.requirement),
    approval.reason,
    approval.description,
    approval.requestedBy,
    approval.requestedAt,
    approval.expiresAt,
    approval.escalations,
    approval.remindersSent,
    toEditRef(approval.action, row),
    toProposalRef(approval.proposal, approval.votes),
    approval.votes.map((vote) => packVote(vote, approval.votes)),
    approval.resolution,
    approval.remindAt ?? null,
  ] as const;
}

type PackedApproval = ReturnType<typeof packApproval>;

function unpackApproval(
  [
    approvalId,
    round,
    actionDigest,
    verdict,
    requirement,
    reason,
    description,
    requestedBy,
    requestedAt,
    expiresAt,
    escalations,
    remindersSent,
    ,
    proposal,
    packedVotes,
    resolution,
    remindAt,
  ]: PackedApproval,
  latest: Verdict,
): Omit<Approval, 'action'> {
  const decisions = packedVotes.map(([, , , decision]) => decision);
  return {
    approvalId,
    round,
    actionDigest,
    verdict: verdict ?? latest,
    requirement: unpackRequirement(requirement),
    reason,
    description,
    requestedBy,
    requestedAt,
    expiresAt,
    escalations,
    remindersSent,
    proposal: toProposal(proposal, decisions),
    votes: packedVotes.map((vote) => unpackVote(vote, decisions)),
    resolution,
    ...(remindAt === null ? {} : { remindAt }),
  };
}

/** The approvals of a call as they are stored, together with the call's request and its latest verdict. */
export function packApprovals(row: CallRow): readonly PackedApproval[] {
  return row.approvals.map((approval) => packApproval(approval, row));
}

/** And back. */
export function unpackApprovals(
  packed: readonly PackedApproval[],
  verdict: Verdict | null,
  requested: Action,
): readonly Approval[] {
  // A call with an approval has a verdict.
  const approvals = verdict === null ? [] : packed.map((one) => unpackApproval(one, verdict));
  return approvals.map((approval, at) => ({
    ...approval,
    action: toAction(packed[at]?.[12] ?? null, approvals, requested),
  }));
}
