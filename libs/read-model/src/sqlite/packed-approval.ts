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

function packVote(vote: Vote) {
  return [
    vote.status,
    vote.stage,
    vote.proposal,
    vote.decision,
    vote.actionDigest,
    vote.shown,
    vote.reason,
    vote.instruction,
    vote.respondedBy,
    vote.onBehalfOf,
    vote.groups,
    vote.via,
    vote.assurance,
    vote.automatic,
    vote.respondedAt,
    vote.signature,
    vote.respondedByName ?? null,
    vote.credential ?? null,
    vote.groupsOfFiles ?? null,
  ] as const;
}

function unpackVote([
  status,
  stage,
  proposal,
  decision,
  actionDigest,
  shown,
  reason,
  instruction,
  respondedBy,
  onBehalfOf,
  groups,
  via,
  assurance,
  automatic,
  respondedAt,
  signature,
  respondedByName,
  credential,
  groupsOfFiles,
]: ReturnType<typeof packVote>): Vote {
  return {
    status,
    stage,
    proposal,
    decision,
    actionDigest,
    shown,
    reason,
    instruction,
    respondedBy,
    onBehalfOf,
    groups,
    via,
    assurance,
    automatic,
    respondedAt,
    signature,
    ...(respondedByName !== null && { respondedByName }),
    ...(credential !== null && { credential }),
    ...(groupsOfFiles !== null && { groupsOfFiles }),
  };
}

/** Equal by value: a row from the file must be written like one that never left the memory. */
function isSameVerdict(one: Verdict, other: Verdict | null): boolean {
  return one === other || isDeepStrictEqual(one, other);
}

/** The requirement of the request is that of the first proposal; of the others only what they add is stored. */
function packProposal(proposal: Proposal, votes: readonly Vote[], row: CallRow) {
  const { number, kind, action, output, requirements, clocks, proposedBy, proposedAt, replaces } = proposal;
  return [
    kind,
    toEditRef(action, row),
    kind === 'run' ? null : votes.findIndex(({ decision }) => decision.type === 'answer' && decision.output === output),
    (number === 1 ? requirements : requirements.slice(1)).map(packRequirement),
    clocks.map(({ expiresAt, since, remindAt }) => [expiresAt, since, remindAt ?? null] as const),
    proposedBy,
    proposedAt,
    replaces,
  ] as const;
}

type PackedProposal = ReturnType<typeof packProposal>;

function unpackProposals(
  packed: readonly PackedProposal[],
  votes: readonly Vote[],
  actionAt: (ref: EditRef) => Action,
): readonly Proposal[] {
  const [ofRequest] = packed[0]?.[3].map(unpackRequirement) ?? [];
  return packed.map(([kind, action, answer, requirements, clocks, proposedBy, proposedAt, replaces], index) => {
    const decision = answer === null ? undefined : votes[answer]?.decision;
    const own = requirements.map(unpackRequirement);
    return {
      number: index + 1,
      kind,
      action: actionAt(action),
      output: decision?.type === 'answer' ? decision.output : null,
      requirements: index === 0 || ofRequest === undefined ? own : [ofRequest, ...own],
      clocks: clocks.map(([expiresAt, since, remindAt]) => ({
        expiresAt,
        since,
        ...(remindAt === null ? {} : { remindAt }),
      })),
      proposedBy,
      proposedAt,
      replaces,
    };
  });
}

function packApproval(approval: Approval, row: CallRow) {
  return [
    approval.approvalId,
    approval.round,
    // Null: the latest verdict of the call, as nearly always.
    isSameVerdict(approval.verdict, row.verdict) ? null : approval.verdict,
    approval.reason,
    approval.description,
    approval.requestedBy,
    approval.requestedAt,
    approval.proposals.map((proposal) => packProposal(proposal, approval.votes, row)),
    approval.escalations,
    approval.remindersSent,
    approval.remindersBefore,
    approval.reveals,
    approval.votes.map(packVote),
    approval.resolution,
  ] as const;
}

type PackedApproval = ReturnType<typeof packApproval>;

type Unpacked = Omit<Approval, 'proposals'>;

function unpackApproval(
  [
    approvalId,
    round,
    verdict,
    reason,
    description,
    requestedBy,
    requestedAt,
    ,
    escalations,
    remindersSent,
    remindersBefore,
    reveals,
    votes,
    resolution,
  ]: PackedApproval,
  latest: Verdict,
): Unpacked {
  return {
    approvalId,
    round,
    verdict: verdict ?? latest,
    reason,
    description,
    requestedBy,
    requestedAt,
    escalations,
    remindersSent,
    remindersBefore,
    reveals,
    votes: votes.map(unpackVote),
    resolution,
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
  const actionAt = (ref: EditRef): Action => toAction(ref, approvals, requested);
  return approvals.map((approval, at) => ({
    ...approval,
    proposals: unpackProposals(packed[at]?.[7] ?? [], approval.votes, actionAt),
  }));
}
