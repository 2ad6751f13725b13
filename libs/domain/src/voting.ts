import type { EventData } from '@countersign/contracts';
import { hasRoom } from './bounds.js';
import { isBehind, isSamePersonInLog } from './identity.js';
import { afterProposal, currentProposal } from './proposal.js';
import { needsSignature } from './requirement.js';
import { agrees, columnsNow, firstOpen, isApproverOfStage, isCounted, openMembers } from './seats.js';
import type { Placed } from './seats.js';
import type { Approval, Vote } from './tool-call.state.js';

/** The current vote of this person, which their delegate may have cast; undefined when there is none. */
export function countedVoteBy(approval: Approval, names: readonly string[]): Vote | undefined {
  return approval.votes.find((vote) => isCounted(vote) && names.some((name) => isBehind(vote, name)));
}

/** The number of a response in its approval, from 1. It never changes. */
export function numberOfVote({ votes }: Approval, vote: Vote): number {
  return votes.indexOf(vote) + 1;
}

/**
 * Returns whether silence may approve: in the first round of a request to which nobody objected, and which nobody
 * edited or answered, below high risk, and for which no signature is required.
 */
export function maySilenceApprove(approval: Approval): boolean {
  const { requirements } = currentProposal(approval);
  const [requirement] = requirements;
  const isFirst = approval.round === 1 && approval.proposals.length === 1;
  // An objection that was taken back was one, and so was that of a person who has lost the right since: its author has
  // looked, and others may have held back because of it. So is an edit that left the arguments as they were.
  const isTouched = approval.votes.some(({ decision }) => decision.type !== 'approve');
  return (
    isFirst && !isTouched && hasRoom(approval) && requirement?.risk !== 'high' && !requirements.some(needsSignature)
  );
}

/**
 * The revision of what people are shown, from 1. Each proposal, each instruction and each vote that ended makes the next one, and it
 * never comes back, unlike the digests: after a withdrawal the same is shown as before.
 */
export function shownRevisionOf({ proposals, votes }: Approval): number {
  const told = votes.filter(({ instruction }) => instruction !== null).length;
  return proposals.length + told + votes.filter((vote) => !isCounted(vote)).length;
}

/** What a person tells the agent if the proposal is approved; with `ifDenied`: if the approval is denied. */
export interface Instruction {
  readonly respondedBy: string;
  readonly instruction: string;
  readonly ifDenied?: true;
}

/**
 * The instructions of the votes that count, in their order: while the approval is pending those that the agent may get,
 * of the people who agreed to the current proposal and of those who denied; afterwards those that it got.
 */
export function instructionsOf(approval: Approval): readonly Instruction[] {
  const { number } = currentProposal(approval);
  return approval.votes.flatMap((vote): Instruction[] => {
    const { respondedBy, instruction } = vote;
    const isFor = agrees(vote);
    if (instruction === null || !isCounted(vote) || !mayBeTold(approval, isFor)) return [];
    if (!isFor) return [{ respondedBy, instruction, ifDenied: true }];
    return vote.proposal === number ? [{ respondedBy, instruction }] : [];
  });
}

/** Silence agrees to the request alone, not to the words of those who were too few. */
function mayBeTold({ resolution, votes }: Approval, isFor: boolean): boolean {
  switch (resolution.status) {
    case 'pending':
      return true;
    case 'approved':
      return isFor && !votes.some(({ automatic }) => automatic);
    case 'denied':
      return !isFor;
    case 'expired':
    case 'cancelled':
      return false;
  }
}

function toVote(approval: Approval, response: EventData<'ApprovalResponded'>): Vote {
  return {
    status: 'counted',
    decision: response.decision,
    proposal: currentProposal(approval).number,
    stage: 0,
    actionDigest: response.actionDigest,
    shown: response.shown,
    reason: response.reason,
    instruction: response.instruction,
    respondedBy: response.respondedBy,
    ...(response.respondedByName !== undefined && { respondedByName: response.respondedByName }),
    onBehalfOf: response.onBehalfOf,
    groups: response.groups,
    ...(response.groupsOfFiles !== undefined && { groupsOfFiles: response.groupsOfFiles }),
    via: response.via,
    assurance: response.assurance,
    ...(response.credential !== undefined && { credential: response.credential }),
    automatic: response.automatic,
    respondedAt: response.respondedAt,
    signature: response.signature ?? null,
  };
}

/**
 * The earlier votes that remain after a new vote. A person's later vote replaces their earlier one. Approvals of
 * anything but the current proposal are void. Denials remain: an edit does not undo another person's denial.
 */
function afterVote(earlier: Vote, vote: Vote, last: number): Vote {
  if (!isCounted(earlier)) return earlier;
  if (isSamePersonInLog(earlier, vote) || (agrees(earlier) && earlier.proposal !== vote.proposal)) {
    return { ...earlier, status: 'void' };
  }
  // A denial in a column that no longer exists counts in the last one.
  return earlier.stage > last ? { ...earlier, stage: last } : earlier;
}

/**
 * The column in which a vote counts: the first open one in which the person may respond. For an approval and a denial
 * that is the one that is asked. An edit or an answer restarts the stages, and its author may belong to a later one.
 */
function columnOf(approval: Approval, columns: readonly Placed[], groups: readonly string[]): number {
  const open = columns.find((column) =>
    openMembers(approval, column).some((member) => isApproverOfStage(approval, member, groups)),
  );
  return (open ?? firstOpen(approval, columns))?.index ?? columns.length;
}

/** The approval without the votes of these voters. */
export function withoutVotesOf(approval: Approval, voters: readonly string[]): Approval {
  if (voters.length === 0) return approval;
  const votes = approval.votes.map((vote): Vote =>
    isCounted(vote) && voters.includes(vote.respondedBy) ? { ...vote, status: 'void' } : vote,
  );
  return { ...approval, votes };
}

/** The approval with one more counted response, and with the proposal that it makes; `tally` computes its outcome. */
export function castVote(before: Approval, response: EventData<'ApprovalResponded'>): Approval {
  const approval = afterProposal(withoutVotesOf(before, response.endedVotes ?? []), response);
  const columns = columnsNow(approval);
  const vote = toVote(approval, response);
  const votes = approval.votes.map((earlier) => afterVote(earlier, vote, columns.length - 1));
  const stage = columnOf({ ...approval, votes }, columns, vote.groups);
  return { ...approval, votes: [...votes, { ...vote, stage }] };
}

/** The approval without this person's vote. */
export function withdrawVote(approval: Approval, vote: Vote): Approval {
  const votes = approval.votes.map((one): Vote => (one === vote ? { ...one, status: 'withdrawn' } : one));
  return { ...approval, votes };
}

/** The approval whose votes for the proposals before are void: another one is current. Denials remain. */
export function withoutApprovals(approval: Approval): Approval {
  const { number } = currentProposal(approval);
  const last = columnsNow(approval).length - 1;
  const votes = approval.votes.map((vote): Vote => {
    if (!isCounted(vote)) return vote;
    if (agrees(vote) && vote.proposal !== number) return { ...vote, status: 'void' };
    return vote.stage > last ? { ...vote, stage: last } : vote;
  });
  return { ...approval, votes };
}

/** Returns whether a counted vote agrees to the current proposal. */
export function isBacked(approval: Approval): boolean {
  const { number } = currentProposal(approval);
  return approval.votes.some((vote) => isCounted(vote) && agrees(vote) && vote.proposal === number);
}

/** The vote that proposed what is asked now, whether it still counts or not; undefined: the agent's request is asked. */
function proposingVote(approval: Approval): Vote | undefined {
  const { number, proposedBy, proposedAt } = currentProposal(approval);
  if (number === 1) return undefined;
  return approval.votes.find(
    (one) => one.proposal === number && one.respondedBy === proposedBy && one.respondedAt === proposedAt,
  );
}

/**
 * Returns whether this vote is of the person who proposed what is asked now. Their first one, which proposed it, no longer counts
 * where they voted again.
 */
export function isOfProposer(approval: Approval, vote: Vote): boolean {
  const proposing = proposingVote(approval);
  return proposing?.proposal === vote.proposal && isSamePersonInLog(proposing, vote);
}

/**
 * The vote that a person under these names has left to end: one that counts, or the one that proposed what is asked now. That
 * stands until its person ends it, also where they have lost the right to vote since.
 */
export function standingVoteBy(approval: Approval, names: readonly string[]): Vote | undefined {
  const counted = countedVoteBy(approval, names);
  if (counted !== undefined) return counted;
  const proposing = proposingVote(approval);
  return proposing !== undefined && names.some((name) => isBehind(proposing, name)) ? proposing : undefined;
}
