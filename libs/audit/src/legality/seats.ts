import type { Requirement } from '@countersign/contracts';
import type { ApprovalState, CountedVote } from './call-state.js';

type Stage = Requirement['stages'][number];

/** A place that one person fills; null: any approver may. */
type Seat = readonly string[] | null;

/** The groups that may vote in a stage of the current proposal, with those that an escalation let in; null: every approver. */
function votersOf(approval: ApprovalState, requirement: number, stage: number): Seat {
  const groups = approval.proposal.requirements[requirement]?.stages[stage]?.groups ?? null;
  return groups === null ? null : [...groups, ...openedIn(approval, requirement, stage)];
}

function openedIn({ opened }: ApprovalState, requirement: number, stage: number): readonly string[] {
  return opened.flatMap((one) => (one.requirement === requirement && one.stage === stage ? one.to : []));
}

function fits(seat: Seat, groups: readonly string[]): boolean {
  return seat === null || seat.some((group) => groups.includes(group));
}

/** The groups that some stage of the current proposal asks, with those that an escalation let in; null: every approver. */
export function groupsAsked(approval: ApprovalState): readonly string[] | null {
  const seats = approval.proposal.requirements.flatMap(({ stages }, requirement) =>
    stages.map((_, stage) => votersOf(approval, requirement, stage)),
  );
  return seats.some((seat) => seat === null) ? null : seats.flatMap((seat) => seat ?? []);
}

/** Returns whether a member of these groups may vote in some stage of the current proposal. */
export function mayVote(approval: ApprovalState, groups: readonly string[]): boolean {
  return approval.proposal.requirements.some(({ stages }, requirement) =>
    stages.some((_, stage) => fits(votersOf(approval, requirement, stage), groups)),
  );
}

function seatsOf(approval: ApprovalState, requirement: number, index: number, stage: Stage): readonly Seat[] {
  const opened = openedIn(approval, requirement, index);
  if (stage.mode === 'all-of' && stage.groups !== null) return stage.groups.map((group) => [group, ...opened]);
  const voters = votersOf(approval, requirement, index);
  return Array.from({ length: stage.approve }, () => voters);
}

/** Returns whether each seat can have a person of its own. Augmenting paths: a person moves on if another seat is free. */
function areFilled(seats: readonly Seat[], votes: readonly CountedVote[]): boolean {
  const seatOf = new Map<number, number>();
  const place = (seat: number, tried: Set<number>): boolean =>
    votes.some(({ groups }, person) => {
      if (tried.has(person) || !fits(seats[seat] ?? null, groups)) return false;
      tried.add(person);
      const taken = seatOf.get(person);
      if (taken !== undefined && !place(taken, tried)) return false;
      seatOf.set(person, seat);
      return true;
    });
  return seats.every((_, seat) => place(seat, new Set()));
}

/** The votes that agree to the current proposal. */
export function agreeing({ votes, number }: ApprovalState): readonly CountedVote[] {
  return votes.filter(({ agrees, proposal }) => agrees && proposal === number);
}

/** Returns whether the first `stages` stages of a requirement have people enough, each person in one seat. */
function satisfies(approval: ApprovalState, requirement: number, stages: number): boolean {
  const all = approval.proposal.requirements[requirement]?.stages ?? [];
  const seats = all.slice(0, stages).flatMap((stage, index) => seatsOf(approval, requirement, index, stage));
  return areFilled(seats, agreeing(approval));
}

/** Returns whether every requirement of the current proposal has people enough. */
export function isSatisfied(approval: ApprovalState): boolean {
  return approval.proposal.requirements.every(({ stages }, index) => satisfies(approval, index, stages.length));
}

/** The first stage of a requirement that lacks people; the number of its stages when none does. */
export function openStage(approval: ApprovalState, requirement: number): number {
  const { length } = approval.proposal.requirements[requirement]?.stages ?? [];
  let open = 0;
  while (open < length && satisfies(approval, requirement, open + 1)) open += 1;
  return open;
}

/** Returns whether a stage has denials enough for certain: each was given in the stage that was asked, or wherever it counts. */
export function isDeniedForSure(approval: ApprovalState): boolean {
  const { votes, proposal } = approval;
  const [{ stages } = { stages: [] }, ...others] = proposal.requirements;
  const denials = votes.filter(({ agrees }) => !agrees);
  if (others.length > 0) return isDeniedWherever(approval, denials);
  const places = denials.map(({ stage }) => Math.min(stage, stages.length - 1));
  return stages.some(({ deny }, index) => places.filter((stage) => stage === index).length >= deny);
}

/**
 * Attack: a denial is passed over because an edit made a second rule count. Of several requirements it is not known which stage
 * was asked. Each denial counts in one where its person may vote: some stage has enough if the others cannot hold them all.
 */
function isDeniedWherever(approval: ApprovalState, denials: readonly CountedVote[]): boolean {
  return [...denials.map((denial) => [denial]), denials].some((some) => some.length > roomFor(approval, some));
}

/** How many denials could be without an end, each in a stage where one of them may count. */
function roomFor(approval: ApprovalState, denials: readonly CountedVote[]): number {
  const room = approval.proposal.requirements.flatMap(({ stages }, requirement) =>
    stages.map(({ deny }, stage) => {
      const voters = votersOf(approval, requirement, stage);
      return denials.some((denial) => mayCount(approval, denial, voters)) ? deny - 1 : 0;
    }),
  );
  return room.reduce((sum, one) => sum + one, 0);
}

/** A denial of an earlier proposal was carried over, and counts in each stage. */
function mayCount({ number }: ApprovalState, { proposal, groups }: CountedVote, voters: Seat): boolean {
  return proposal !== number || fits(voters, groups);
}

/** Returns whether a stage could have denials enough. One of an earlier proposal was carried over, and counts in each. */
export function couldBeDenied(approval: ApprovalState): boolean {
  const denials = approval.votes.filter(({ agrees }) => !agrees);
  return approval.proposal.requirements.some(({ stages }, requirement) =>
    stages.some(({ deny }, stage) => {
      const voters = votersOf(approval, requirement, stage);
      return denials.filter((denial) => mayCount(approval, denial, voters)).length >= deny;
    }),
  );
}

/** Returns whether one stage decides alone, so that the votes have one result only. */
export function isOneStage({ proposal: { requirements } }: ApprovalState): boolean {
  return requirements.length === 1 && requirements[0]?.stages.length === 1;
}
