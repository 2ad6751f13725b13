import type { Requirement, StageProgress } from '@countersign/contracts';
import { currentProposal } from './proposal.js';
import { columnsOf, peopleOf } from './requirement.js';
import type { Column, Member } from './requirement.js';
import type { Approval, Proposal, Vote } from './tool-call.state.js';

type Stage = NonNullable<ReturnType<typeof stageOf>>;

/** Returns whether a vote takes part in the tally. */
export function isCounted(vote: Vote): boolean {
  return vote.status === 'counted';
}

/** Returns whether a vote is for the proposal, not against it. */
export function agrees(vote: Vote): boolean {
  return vote.decision.type !== 'deny';
}

/** The column, with its place. */
export interface Placed extends Column {
  readonly index: number;
}

/** A proposal never changes, and its columns are asked for at each look. The calls of a rule share its requirement. */
const columnsOfProposals = new WeakMap<Proposal | Requirement, readonly Placed[]>();

/** The columns of the current proposal. */
export function columnsNow(approval: Approval): readonly Placed[] {
  const proposal = currentProposal(approval);
  const [first, ...others] = proposal.requirements;
  const key = others.length === 0 && first !== undefined ? first : proposal;
  const known = columnsOfProposals.get(key);
  if (known !== undefined) return known;
  const columns = columnsOf(proposal.requirements).map((column, index) => ({ ...column, index }));
  columnsOfProposals.set(key, columns);
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

/** Returns whether a member of these groups may respond in a stage of the current proposal. */
export function isApproverOfStage(approval: Approval, member: Member, groups: readonly string[]): boolean {
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

/** The groups of each seat of a stage that is still empty; null: every approver may take it. */
export function emptySeatsOf(
  approval: Approval,
  placed: Placed,
  member: Member,
): readonly (readonly string[] | null)[] {
  const stage = stageOf(approval, member);
  if (stage?.mode === 'all-of' && stage.groups !== null) {
    const standIns = escalatedTo(approval, member);
    return emptySeats(approval, placed, member, stage.groups).map((group) => [group, ...standIns]);
  }
  const approvers = approversOfStage(approval, member);
  return Array.from({ length: missingFor(approval, placed, member) }, () => approvers);
}

/** The stages of a column that lack people. */
export function openMembers(approval: Approval, column: Placed): readonly Member[] {
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

/** The first column with a stage that lacks people; undefined: all are satisfied. */
export function firstOpen(approval: Approval, columns: readonly Placed[]): Placed | undefined {
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
 * Returns whether a vote still counts with these groups of its author. They must still be asked in its stage, by any
 * group: a person who moved between two groups of a quorum keeps the vote. An agreement in an all-of stage needs each
 * group that gave it a seat. A refusal that was carried over was not given in this stage, and stays.
 */
export function isStillApprover(approval: Approval, vote: Vote, groups: readonly string[]): boolean {
  const members = columnsNow(approval)[vote.stage]?.members ?? [];
  return members.every((member) => {
    const approvers = approversOfStage(approval, member);
    const gave = approvers === null ? [] : vote.groups.filter((group) => approvers.includes(group));
    if (gave.length === 0) return true;
    const isSeat = stageOf(approval, member)?.mode === 'all-of' && agrees(vote);
    return isSeat ? gave.every((group) => groups.includes(group)) : isApproverOfStage(approval, member, groups);
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
