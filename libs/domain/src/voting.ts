import type { EventData, Stage } from '@countersign/contracts';
import { isSamePerson, normalised } from './identity.js';
import type { Voter } from './identity.js';
import { areEqualJson } from './json-equality.js';
import { peopleOf } from './requirement.js';
import type { Approval, Proposal, Vote } from './tool-call.state.js';

function isCounted(vote: Vote): boolean {
  return vote.status === 'counted';
}

function agrees(vote: Vote): boolean {
  return vote.decision.type !== 'deny';
}

/** Whether two proposals are one: a vote for the one is a vote for the other. */
function isSameProposal(one: Proposal, other: Proposal): boolean {
  if (one.kind === 'run') return other.kind === 'run' && one.actionDigest === other.actionDigest;
  return other.kind === 'answer' && areEqualJson(one.output, other.output);
}

function escalatedTo(approval: Approval, stage: number): readonly string[] {
  return approval.escalations.filter((escalation) => escalation.stage === stage).flatMap(({ to }) => to);
}

/** The groups whose people may answer in a stage, those it was escalated to included; null: anybody. */
export function approversOf(approval: Approval, stage: number): readonly string[] | null {
  const groups = approval.requirement.stages[stage]?.groups ?? null;
  return groups === null ? null : [...groups, ...escalatedTo(approval, stage)];
}

/** Whether somebody of these groups may answer in a stage. */
export function isApproverOf(approval: Approval, stage: number, groups: readonly string[]): boolean {
  const approvers = approversOf(approval, stage);
  return approvers === null || approvers.some((group) => groups.includes(group));
}

/**
 * How many seats can be filled with distinct people, each seat naming who may take it: a person of two groups stands for
 * one of them, for the one where nobody else can. Augmenting paths; the sets are small.
 */
function seatsFilled(seats: readonly ReadonlySet<number>[]): number {
  const seatOf = new Map<number, number>();
  const place = (seat: number, tried: Set<number>): boolean =>
    [...(seats[seat] ?? [])].some((person) => {
      if (tried.has(person)) return false;
      tried.add(person);
      const taken = seatOf.get(person);
      if (taken !== undefined && !place(taken, tried)) return false;
      seatOf.set(person, seat);
      return true;
    });
  return seats.filter((_, seat) => place(seat, new Set())).length;
}

function approvedIn(approval: Approval, index: number, stage: Stage): number {
  const votes = approval.votes.filter((vote) => isCounted(vote) && agrees(vote) && vote.stage === index);
  if (stage.mode === 'quorum' || stage.groups === null) return votes.length;
  // Whoever the stage was escalated to may stand in for any group of it.
  const standIns = escalatedTo(approval, index);
  const seats = stage.groups.map(
    (group) =>
      new Set(
        votes.flatMap(({ groups }, person) =>
          groups.some((one) => one === group || standIns.includes(one)) ? [person] : [],
        ),
      ),
  );
  return seatsFilled(seats);
}

function isSatisfied(approval: Approval, index: number, stage: Stage): boolean {
  return approvedIn(approval, index, stage) >= peopleOf(stage);
}

/** The stage that is being asked: the first that is not satisfied. The number of stages when all are. */
export function currentStage(approval: Approval): number {
  const { stages } = approval.requirement;
  const open = stages.findIndex((stage, index) => !isSatisfied(approval, index, stage));
  return open === -1 ? stages.length : open;
}

/** The groups that are asked now, or were asked last; null: anybody. */
export function groupsAsked(approval: Approval): readonly string[] | null {
  const last = approval.requirement.stages.length - 1;
  // A single stage is the rule, and needs no look at the votes.
  return approversOf(approval, last === 0 ? 0 : Math.min(currentStage(approval), last));
}

/** How the votes stand. A stage with enough denials denies, whatever the other stages say. */
export function tally(approval: Approval): 'pending' | 'approved' | 'denied' {
  const { stages } = approval.requirement;
  const denials = (index: number): number =>
    approval.votes.filter((vote) => isCounted(vote) && !agrees(vote) && vote.stage === index).length;
  if (stages.some((stage, index) => denials(index) >= stage.deny)) return 'denied';
  return currentStage(approval) === stages.length ? 'approved' : 'pending';
}

/** The vote that this person gave and that stands now, if there is one. */
export function countedVoteBy(approval: Approval, principal: string): Vote | undefined {
  return approval.votes.find((vote) => isCounted(vote) && normalised(vote.respondedBy) === normalised(principal));
}

/** Whether a person, or whom they represent, has already voted on what a new vote of theirs would be about. */
export function hasVotedOn(approval: Approval, voter: Voter, proposal: Proposal): boolean {
  return approval.votes.some(
    (vote) => isCounted(vote) && isSamePerson(vote, voter) && isSameProposal(vote.proposal, proposal),
  );
}

/** Whether anybody's vote stands that is not for what the approval asked at first. */
export function isDisputed(approval: Approval): boolean {
  const asked: Proposal = { kind: 'run', actionDigest: approval.actionDigest };
  return !isSameProposal(approval.proposal, asked) || approval.votes.some((vote) => isCounted(vote) && !agrees(vote));
}

/** What a response is about: an edit and an answer propose something of their own. */
export function proposalOf(
  approval: Approval,
  response: Pick<EventData<'ApprovalResponded'>, 'decision' | 'actionDigest'>,
): Proposal {
  switch (response.decision.type) {
    case 'edit':
      return { kind: 'run', actionDigest: response.actionDigest };
    case 'answer':
      return { kind: 'answer', output: response.decision.output };
    case 'approve':
    case 'deny':
      return approval.proposal;
  }
}

/**
 * What a new vote leaves of an earlier one. A person's later vote replaces their earlier one. Approvals of anything else
 * than what is now proposed are void: they were given to something else. Denials stand: nobody's edit undoes another's no.
 */
function afterVote(earlier: Vote, vote: Vote): Vote {
  const replaced = isSamePerson(earlier, vote);
  const outdated = agrees(earlier) && agrees(vote) && !isSameProposal(earlier.proposal, vote.proposal);
  return isCounted(earlier) && (replaced || outdated) ? { ...earlier, status: 'void' } : earlier;
}

function toVote(approval: Approval, response: EventData<'ApprovalResponded'>): Vote {
  return {
    status: 'counted',
    decision: response.decision,
    proposal: proposalOf(approval, response),
    stage: 0,
    actionDigest: response.actionDigest,
    reason: response.reason,
    instruction: response.instruction,
    respondedBy: response.respondedBy,
    onBehalfOf: response.onBehalfOf,
    groups: response.groups,
    via: response.via,
    assurance: response.assurance,
    automatic: response.automatic,
    respondedAt: response.respondedAt,
  };
}

/** The approval with an edit's requirement in force. */
export function withRequirementOf(
  approval: Approval,
  { decision }: Pick<EventData<'ApprovalResponded'>, 'decision'>,
): Approval {
  if (decision.type !== 'edit' || decision.requirement === null) return approval;
  const last = decision.requirement.stages.length - 1;
  // A denial of a stage that is gone keeps counting, in the last one.
  const votes = approval.votes.map((vote) => ({ ...vote, stage: Math.min(vote.stage, last) }));
  return { ...approval, requirement: decision.requirement, votes };
}

/**
 * The stage in which a vote counts: the first one open that the person may answer in. For an approval and a denial that
 * is the stage being asked. An edit or an answer restarts the stages, and whoever proposes it may belong to a later one.
 */
function stageOf(approval: Approval, groups: readonly string[]): number {
  const open = approval.requirement.stages.findIndex(
    (stage, index) => !isSatisfied(approval, index, stage) && isApproverOf(approval, index, groups),
  );
  return open === -1 ? currentStage(approval) : open;
}

/** The approval with one more response counted; how it ends is for `tally`. */
export function castVote(before: Approval, response: EventData<'ApprovalResponded'>): Approval {
  const approval = withRequirementOf(before, response);
  const vote = toVote(approval, response);
  const votes = approval.votes.map((earlier) => afterVote(earlier, vote));
  const restarted: Approval = { ...approval, votes, proposal: agrees(vote) ? vote.proposal : approval.proposal };
  return { ...restarted, votes: [...votes, { ...vote, stage: stageOf(restarted, vote.groups) }] };
}

/**
 * The approval without this person's vote. Edited arguments stay the question, for everybody sees them and their digest.
 * An answer that nobody stands behind any more is no longer proposed: the question is the run again.
 */
export function withdrawVote(approval: Approval, principal: string): Approval {
  const withdrawn = countedVoteBy(approval, principal);
  const votes = approval.votes.map((vote): Vote => (vote === withdrawn ? { ...vote, status: 'withdrawn' } : vote));
  const isBacked = votes.some(
    (vote) => isCounted(vote) && agrees(vote) && isSameProposal(vote.proposal, approval.proposal),
  );
  const proposal: Proposal =
    approval.proposal.kind === 'run' || isBacked
      ? approval.proposal
      : { kind: 'run', actionDigest: approval.action.actionDigest };
  return { ...approval, votes, proposal };
}
