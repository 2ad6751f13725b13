import type { EventData, Stage, StageProgress } from '@countersign/contracts';
import { isBehind, isSamePerson } from './identity.js';
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

/** Returns whether two proposals are the same: a vote for one is a vote for the other. */
function isSameProposal(one: Proposal, other: Proposal): boolean {
  if (one.kind === 'run') return other.kind === 'run' && one.actionDigest === other.actionDigest;
  return other.kind === 'answer' && areEqualJson(one.output, other.output);
}

function escalatedTo(approval: Approval, stage: number): readonly string[] {
  return approval.escalations.filter((escalation) => escalation.stage === stage).flatMap(({ to }) => to);
}

/** The groups that may respond in a stage, including those it was escalated to; null: every approver. */
export function approversOf(approval: Approval, stage: number): readonly string[] | null {
  const groups = approval.requirement.stages[stage]?.groups ?? null;
  return groups === null ? null : [...groups, ...escalatedTo(approval, stage)];
}

/** Returns whether a member of these groups may respond in a stage. */
export function isApproverOf(approval: Approval, stage: number, groups: readonly string[]): boolean {
  const approvers = approversOf(approval, stage);
  return approvers === null || approvers.some((group) => groups.includes(group));
}

/**
 * Returns which seats can be filled with distinct people. Each seat names the people who may take it. A person of two
 * groups fills one seat, the one that no other person can fill. Augmenting paths; the sets are small.
 */
function seatsFilled(seats: readonly ReadonlySet<number>[]): readonly boolean[] {
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
  return seats.map((_, seat) => place(seat, new Set()));
}

function votesIn(approval: Approval, index: number): readonly Vote[] {
  return approval.votes.filter((vote) => isCounted(vote) && vote.stage === index);
}

function approvedIn(approval: Approval, index: number, stage: Stage): number {
  if (stage.mode === 'quorum' || stage.groups === null) return votesIn(approval, index).filter(agrees).length;
  return stage.groups.length - emptySeats(approval, index, stage.groups).length;
}

/** The groups of an all-of stage from which a person is still missing. */
function emptySeats(approval: Approval, index: number, groups: readonly string[]): readonly string[] {
  const votes = votesIn(approval, index).filter(agrees);
  // A member of a group that the stage was escalated to may fill any seat of it.
  const standIns = escalatedTo(approval, index);
  const seats = groups.map(
    (group) =>
      new Set(
        votes.flatMap((vote, person) =>
          vote.groups.some((one) => one === group || standIns.includes(one)) ? [person] : [],
        ),
      ),
  );
  const filled = seatsFilled(seats);
  return groups.filter((_, seat) => filled[seat] !== true);
}

/** Returns the responses of each stage, and how many people of which groups are still missing. */
export function progressOf(approval: Approval): StageProgress[] {
  return approval.requirement.stages.map((stage, index) => {
    const votes = votesIn(approval, index);
    const missing = Math.max(0, peopleOf(stage) - approvedIn(approval, index, stage));
    return {
      approvedBy: votes.filter(agrees).map(({ respondedBy }) => respondedBy),
      deniedBy: votes.filter((vote) => !agrees(vote)).map(({ respondedBy }) => respondedBy),
      missing,
      missingOf: missing === 0 ? [] : missingOf(approval, index, stage),
    };
  });
}

function missingOf(approval: Approval, index: number, stage: Stage): string[] | null {
  if (stage.groups === null) return null;
  const groups = stage.mode === 'all-of' ? emptySeats(approval, index, stage.groups) : stage.groups;
  return [...new Set([...groups, ...escalatedTo(approval, index)])];
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

/** The groups of the current or last stage; null: every approver. */
export function groupsAsked(approval: Approval): readonly string[] | null {
  const last = approval.requirement.stages.length - 1;
  // Most approvals have one stage. Then the votes need not be counted.
  return approversOf(approval, last === 0 ? 0 : Math.min(currentStage(approval), last));
}

/** The result of the votes. A stage with enough denials denies, independent of the other stages. */
export function tally(approval: Approval): 'pending' | 'approved' | 'denied' {
  const { stages } = approval.requirement;
  const denials = (index: number): number => votesIn(approval, index).filter((vote) => !agrees(vote)).length;
  if (stages.some((stage, index) => denials(index) >= stage.deny)) return 'denied';
  return currentStage(approval) === stages.length ? 'approved' : 'pending';
}

/** The current vote of this person, which their delegate may have cast; undefined when there is none. */
export function countedVoteBy(approval: Approval, principal: string): Vote | undefined {
  return approval.votes.find((vote) => isCounted(vote) && isBehind(vote, principal));
}

/** The earlier vote of a person, or of the person whom they represent, on the subject of a new vote. */
export function earlierVoteOn(approval: Approval, voter: Voter, proposal: Proposal): Vote | undefined {
  return approval.votes.find(
    (vote) => isCounted(vote) && isSamePerson(vote, voter) && isSameProposal(vote.proposal, proposal),
  );
}

/** Returns whether there is a vote for something else than the original request. */
export function isDisputed(approval: Approval): boolean {
  const asked: Proposal = { kind: 'run', actionDigest: approval.actionDigest };
  return !isSameProposal(approval.proposal, asked) || approval.votes.some((vote) => isCounted(vote) && !agrees(vote));
}

/** The subject of a response: an edit and an answer propose their own. */
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
 * The earlier votes that remain after a new vote. A person's later vote replaces their earlier one. Approvals of
 * anything but the current proposal are void. Denials remain: an edit does not undo another person's denial.
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
  // A denial in a stage that no longer exists counts in the last stage.
  const votes = approval.votes.map((vote) => ({ ...vote, stage: Math.min(vote.stage, last) }));
  return { ...approval, requirement: decision.requirement, votes };
}

/**
 * The stage in which a vote counts: the first open one in which the person may respond. For an approval and a denial
 * that is the current stage. An edit or an answer restarts the stages, and its author may belong to a later one.
 */
function stageOf(approval: Approval, groups: readonly string[]): number {
  const open = approval.requirement.stages.findIndex(
    (stage, index) => !isSatisfied(approval, index, stage) && isApproverOf(approval, index, groups),
  );
  return open === -1 ? currentStage(approval) : open;
}

/** The approval with one more counted response; `tally` computes its outcome. */
export function castVote(before: Approval, response: EventData<'ApprovalResponded'>): Approval {
  const approval = withRequirementOf(before, response);
  const vote = toVote(approval, response);
  const votes = approval.votes.map((earlier) => afterVote(earlier, vote));
  const restarted: Approval = { ...approval, votes, proposal: agrees(vote) ? vote.proposal : approval.proposal };
  return { ...restarted, votes: [...votes, { ...vote, stage: stageOf(restarted, vote.groups) }] };
}

/**
 * The approval without this person's vote. Edited arguments remain the subject, because everyone sees them and their
 * digest. An answer without a remaining vote is dropped: the run is the subject again.
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
