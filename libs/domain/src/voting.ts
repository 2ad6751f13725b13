import type { EventData, StageProgress } from '@countersign/contracts';
import { hasRoom } from './bounds.js';
import { isBehind, isSamePerson } from './identity.js';
import { afterProposal, currentProposal } from './proposal.js';
import { columnsOf, peopleOf } from './requirement.js';
import type { Column, Member } from './requirement.js';
import type { Approval, Proposal, Vote } from './tool-call.state.js';

type Stage = NonNullable<ReturnType<typeof stageOf>>;

function isCounted(vote: Vote): boolean {
  return vote.status === 'counted';
}

/** Returns whether a vote is for the proposal, not against it. */
export function agrees(vote: Vote): boolean {
  return vote.decision.type !== 'deny';
}

/** The column, with its place. */
interface Placed extends Column {
  readonly index: number;
}

/** A proposal never changes, and its columns are asked for at each look. */
const columnsOfProposals = new WeakMap<Proposal, readonly Placed[]>();

/** The columns of the current proposal. */
function columnsNow(approval: Approval): readonly Placed[] {
  const proposal = currentProposal(approval);
  const known = columnsOfProposals.get(proposal);
  if (known !== undefined) return known;
  const columns = columnsOf(proposal.requirements).map((column, index) => ({ ...column, index }));
  columnsOfProposals.set(proposal, columns);
  return columns;
}

function stageOf(approval: Approval, member: Member) {
  return currentProposal(approval).requirements[member.requirement]?.stages[member.stage];
}

/** The groups that a stage of the current proposal was escalated to. */
function escalatedTo(approval: Approval, { requirement, stage }: Member): readonly string[] {
  const { number } = currentProposal(approval);
  return approval.escalations.flatMap((one) =>
    one.proposal === number && one.requirement === requirement && one.stage === stage ? one.to : [],
  );
}

/** The groups that may respond in a stage, including those it was escalated to; null: every approver. */
function approversOfStage(approval: Approval, member: Member): readonly string[] | null {
  const groups = stageOf(approval, member)?.groups ?? null;
  return groups === null ? null : [...groups, ...escalatedTo(approval, member)];
}

function isApproverOfStage(approval: Approval, member: Member, groups: readonly string[]): boolean {
  const approvers = approversOfStage(approval, member);
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

function votesIn(approval: Approval, { index }: Placed): readonly Vote[] {
  return approval.votes.filter((vote) => isCounted(vote) && vote.stage === index);
}

/**
 * The votes of a column that count for one of its stages. Where it has several, an escalation of one requirement gives
 * the right to vote in that requirement alone. A denial that was carried over counts for each.
 */
function votesFor(approval: Approval, column: Placed, member: Member): readonly Vote[] {
  const votes = votesIn(approval, column);
  if (column.members.length === 1) return votes;
  const { number } = currentProposal(approval);
  return votes.filter(
    (vote) => (!agrees(vote) && vote.proposal !== number) || isApproverOfStage(approval, member, vote.groups),
  );
}

function approvedFor(approval: Approval, column: Placed, member: Member, stage: Stage): number {
  if (stage.mode === 'quorum' || stage.groups === null) return votesFor(approval, column, member).filter(agrees).length;
  return stage.groups.length - emptySeats(approval, column, member, stage.groups).length;
}

/** The groups of an all-of stage from which a person is still missing. */
function emptySeats(approval: Approval, column: Placed, member: Member, groups: readonly string[]): readonly string[] {
  const votes = votesFor(approval, column, member).filter(agrees);
  // A member of a group that the stage was escalated to may fill any seat of it.
  const standIns = escalatedTo(approval, member);
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

/** How many more people must agree in a stage. */
function missingFor(approval: Approval, column: Placed, member: Member): number {
  const stage = stageOf(approval, member);
  return stage === undefined ? 0 : Math.max(0, peopleOf(stage) - approvedFor(approval, column, member, stage));
}

function openMembers(approval: Approval, column: Placed): readonly Member[] {
  return column.members.filter((member) => missingFor(approval, column, member) > 0);
}

/** Returns the responses of each column, and how many people of which groups are still missing. */
export function progressOf(approval: Approval): StageProgress[] {
  return columnsNow(approval).map((column) => {
    const votes = votesIn(approval, column);
    const missing = Math.max(...column.members.map((member) => missingFor(approval, column, member)));
    return {
      approvedBy: votes.filter(agrees).map(({ respondedBy }) => respondedBy),
      deniedBy: votes.filter((vote) => !agrees(vote)).map(({ respondedBy }) => respondedBy),
      missing,
      missingOf: missing === 0 ? [] : missingOf(approval, column),
    };
  });
}

function missingOf(approval: Approval, column: Placed): string[] | null {
  const missing = new Set<string>();
  for (const member of openMembers(approval, column)) {
    const stage = stageOf(approval, member);
    const groups = stage?.groups ?? null;
    if (groups === null) return null;
    const seats = stage?.mode === 'all-of' ? emptySeats(approval, column, member, groups) : groups;
    for (const group of [...seats, ...escalatedTo(approval, member)]) missing.add(group);
  }
  return [...missing];
}

function firstOpen(approval: Approval, columns: readonly Placed[]): Placed | undefined {
  return columns.find((column) => openMembers(approval, column).length > 0);
}

/** The stages that are being asked: those of the first column that lack people. None when all columns are satisfied. */
export function stagesAsked(approval: Approval): readonly Member[] {
  const column = firstOpen(approval, columnsNow(approval));
  return column === undefined ? [] : openMembers(approval, column);
}

/** The stage of a requirement that lacks people; the number of its stages when none does. */
export function openStage(approval: Approval, requirement: number): number {
  for (const column of columnsNow(approval)) {
    const open = openMembers(approval, column).find((member) => member.requirement === requirement);
    if (open !== undefined) return open.stage;
  }
  return currentProposal(approval).requirements[requirement]?.stages.length ?? 0;
}

function approversOfMembers(approval: Approval, members: readonly Member[]): readonly string[] | null {
  const groups: string[] = [];
  for (const member of members) {
    const approvers = approversOfStage(approval, member);
    if (approvers === null) return null;
    groups.push(...approvers);
  }
  return members.length > 1 ? [...new Set(groups)] : groups;
}

/** The groups of the stages that are asked, or of the last ones; null: every approver. */
export function groupsAsked(approval: Approval): readonly string[] | null {
  const columns = columnsNow(approval);
  const last = columns.at(-1)?.members ?? [];
  // Most approvals have one stage. Then the votes need not be counted.
  if (columns.length === 1 && last.length === 1) return approversOfMembers(approval, last);
  const asked = stagesAsked(approval);
  return approversOfMembers(approval, asked.length === 0 ? last : asked);
}

/** All groups that may respond to the current proposal, in any of its stages; null: every approver. */
export function groupsOfProposal(approval: Approval): readonly string[] | null {
  const members = columnsNow(approval).flatMap((column) => column.members);
  const groups: string[] = [];
  for (const member of members) {
    const approvers = approversOfStage(approval, member);
    if (approvers === null) return null;
    groups.push(...approvers);
  }
  return [...new Set(groups)];
}

/** Returns whether a member of these groups may respond to what is asked now. */
export function isAsked(approval: Approval, groups: readonly string[]): boolean {
  return stagesAsked(approval).some((member) => isApproverOfStage(approval, member, groups));
}

/** Returns whether a member of these groups may respond in a column of the current proposal, in all of its stages. */
export function isApprover(approval: Approval, groups: readonly string[]): boolean {
  return columnsNow(approval).some(({ members }) =>
    members.every((member) => isApproverOfStage(approval, member, groups)),
  );
}

/**
 * Returns whether the author of a vote could still give it with these groups: in a quorum one of the groups that gave
 * the right is enough, a seat of an all-of stage needs each of them.
 */
export function isStillApprover(approval: Approval, vote: Vote, groups: readonly string[]): boolean {
  const members = columnsNow(approval)[vote.stage]?.members ?? [];
  return members.every((member) => {
    const approvers = approversOfStage(approval, member);
    const gave = approvers === null ? [] : vote.groups.filter((group) => approvers.includes(group));
    if (gave.length === 0) return true;
    const isKept = (group: string): boolean => groups.includes(group);
    return stageOf(approval, member)?.mode === 'all-of' ? gave.every(isKept) : gave.some(isKept);
  });
}

/** The result of the votes. A stage with enough denials denies, independent of the other stages. */
export function tally(approval: Approval): 'pending' | 'approved' | 'denied' {
  const columns = columnsNow(approval);
  const isDenied = columns.some((column) =>
    column.members.some((member) => {
      const denials = votesFor(approval, column, member).filter((vote) => !agrees(vote)).length;
      return denials >= (stageOf(approval, member)?.deny ?? Infinity);
    }),
  );
  if (isDenied) return 'denied';
  return firstOpen(approval, columns) === undefined ? 'approved' : 'pending';
}

/** The current vote of this person, which their delegate may have cast; undefined when there is none. */
export function countedVoteBy(approval: Approval, names: readonly string[]): Vote | undefined {
  return approval.votes.find((vote) => isCounted(vote) && names.some((name) => isBehind(vote, name)));
}

/**
 * Returns whether silence may approve: in the first round of a request to which nobody objected, and which nobody
 * edited or answered, below high risk.
 */
export function maySilenceApprove(approval: Approval): boolean {
  const [requirement] = currentProposal(approval).requirements;
  const isUntouched = approval.round === 1 && approval.proposals.length === 1;
  // An objection that was taken back was one: its author has looked, and others may have held back because of it.
  const isObjected = approval.votes.some((vote) => !agrees(vote));
  return isUntouched && !isObjected && hasRoom(approval) && requirement?.risk !== 'high';
}

/** The instructions of the votes for the current proposal, in their order. */
export function instructionsOf(approval: Approval): readonly Vote[] {
  const { number } = currentProposal(approval);
  return approval.votes.filter(
    (vote) => isCounted(vote) && agrees(vote) && vote.proposal === number && vote.instruction !== null,
  );
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
    onBehalfOf: response.onBehalfOf,
    groups: response.groups,
    via: response.via,
    assurance: response.assurance,
    automatic: response.automatic,
    respondedAt: response.respondedAt,
  };
}

/**
 * The earlier votes that remain after a new vote. A person's later vote replaces their earlier one. Approvals of
 * anything but the current proposal are void. Denials remain: an edit does not undo another person's denial.
 */
function afterVote(earlier: Vote, vote: Vote, last: number): Vote {
  if (!isCounted(earlier)) return earlier;
  if (isSamePerson(earlier, vote) || (agrees(earlier) && earlier.proposal !== vote.proposal)) {
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

/** Returns whether this vote proposed what is asked now. */
export function isOfProposer(approval: Approval, vote: Vote): boolean {
  const { number, proposedBy, proposedAt } = currentProposal(approval);
  return number > 1 && vote.proposal === number && vote.respondedBy === proposedBy && vote.respondedAt === proposedAt;
}
