import type { Requirement, Verdict } from '@countersign/contracts';
import { normalised } from './identity.js';
import { currentProposal, requirementOf } from './proposal.js';
import { requestersOf } from './requesters.js';
import { seatsOf } from './requirement.js';
import { columnsNow, emptySeatsOf, isCounted, openMembers } from './seats.js';
import type { PossibleApprover, ToolCallProposal } from './tool-call.commands.js';
import type { Approval, ToolCall } from './tool-call.state.js';

type Lineage = Pick<ToolCallProposal, 'requestedBy' | 'owner' | 'onBehalfOf' | 'chain'>;

/**
 * The place of the first stage that lacks people because of the names that the agent chose: the person for whom it
 * says that it acts, and the people of the calls around this one. Undefined: every stage can still be satisfied, or it
 * could not be anyway, and each seat for which there were people still has one. Attack: an agent names the strict approvers, so that only the one that it prefers is left.
 */
export function stageWithoutApprovers(
  { stages, fourEyes }: Requirement,
  { requestedBy, owner, onBehalfOf, chain = [] }: Lineage,
  approvers: readonly PossibleApprover[],
): number | undefined {
  const links = chain.flatMap((link) => [link.requestedBy, link.owner, link.onBehalfOf]);
  const chosen = [onBehalfOf, ...links];
  if (!fourEyes || chosen.every((name) => name === undefined)) return undefined;
  const before = without(approvers, [requestedBy, owner]);
  const left = without(approvers, [requestedBy, owner, ...chosen]);
  const seats = stages.flatMap((stage, index) => seatsOf(stage).map((groups) => ({ stage: index, groups })));
  const short = firstShort(seats, left)?.stage;
  if (short !== undefined && short < (firstShort(seats, before)?.stage ?? Infinity)) return short;
  // Attack: the only person of a quorum of two is named, so that no person objects before silence approves.
  const emptied = stages.findIndex((stage) =>
    seatsOf(stage).some((groups) => before.some(takes(groups)) && !left.some(takes(groups))),
  );
  return emptied === -1 ? undefined : emptied;
}

/** A stage of a pending approval that the approvers who are left cannot satisfy. */
export interface Shortage {
  /** The place of the stage in the progress of the approval, from 0. */
  readonly stage: number;
  /** The groups of the first seat that no person can take; null: every approver. */
  readonly groups: readonly string[] | null;
}

/**
 * Returns the first stage that people cannot satisfy any more: too few approvers are left who have not responded and are
 * no requesters. It may be so from the beginning, or since people were removed. Undefined: every stage can be satisfied.
 * @param approval with the votes alone that count now.
 */
export function shortageOf(
  call: Pick<ToolCall, 'request'>,
  approval: Approval,
  approvers: readonly PossibleApprover[],
): Shortage | undefined {
  const { number } = currentProposal(approval);
  const voters = approval.votes
    .filter((vote) => isCounted(vote) && vote.proposal === number)
    .flatMap(({ respondedBy, onBehalfOf }) => [respondedBy, onBehalfOf ?? undefined]);
  const requesters = requirementOf(approval).fourEyes ? requestersOf(call, approval) : [];
  const left = without(approvers, [...voters, ...requesters]);
  const seats = columnsNow(approval).flatMap((column) => {
    const [most = []] = openMembers(approval, column)
      .map((member) => emptySeatsOf(approval, column, member))
      .toSorted((one, other) => other.length - one.length);
    return most.map((groups) => ({ stage: column.index, groups }));
  });
  return firstShort(seats, left);
}

/** Returns the first stage of a requirement that these people cannot satisfy, even after every escalation. */
export function firstStageShortOf(
  { stages, escalation }: Pick<Requirement, 'stages' | 'escalation'>,
  approvers: readonly PossibleApprover[],
): Shortage | undefined {
  const added = escalation.flatMap(({ to }) => to);
  const seats = stages.flatMap((stage, index) =>
    seatsOf(stage).map((groups) => ({ stage: index, groups: groups === null ? null : [...groups, ...added] })),
  );
  return firstShort(seats, without(approvers, []));
}

/** Says which people a pending approval lacks. */
export function shortageDetail({ stage, groups }: Shortage): string {
  const people = groups === null ? 'approvers' : `people of ${groups.map((group) => `"${group}"`).join(', ')}`;
  return `Too few ${people} are left for stage ${String(stage + 1)}, without the requesters and those who have responded.`;
}

/** Says which stage of a rule lacks approvers. */
export function noApproverDetail(stage: number, { ruleId }: Pick<Verdict, 'ruleId'>): string {
  return `onBehalfOf and parentCallId leave too few approvers for stage ${String(stage + 1)} of "${ruleId}"`;
}

/** Returns whether a person, given by their groups, may take a seat. */
function takes(groups: readonly string[] | null): (own: readonly string[]) => boolean {
  return (own) => groups === null || groups.some((group) => own.includes(group));
}

/** A person under all their names, with the groups of all of them. */
interface Person {
  readonly names: readonly string[];
  readonly groups: readonly string[];
}

const personsOfLists = new WeakMap<readonly PossibleApprover[], readonly Person[]>();

/** The people of a list of approvers: principals that share a name are one. The same list is asked for at each look. */
function personsOf(approvers: readonly PossibleApprover[]): readonly Person[] {
  const known = personsOfLists.get(approvers);
  if (known !== undefined) return known;
  const byName = new Map<string, Person>();
  for (const approver of approvers) {
    const own = approver.names.map(normalised);
    const same = [...new Set(own.flatMap((name) => byName.get(name) ?? []))];
    const names = [...new Set([...own, ...same.flatMap((one) => one.names)])];
    const person = { names, groups: [...approver.groups, ...same.flatMap((one) => one.groups)] };
    for (const name of names) byName.set(name, person);
  }
  const persons = [...new Set(byName.values())];
  personsOfLists.set(approvers, persons);
  return persons;
}

/** The groups of each person whom none of these names is. */
function without(
  approvers: readonly PossibleApprover[],
  excluded: readonly (string | undefined)[],
): readonly (readonly string[])[] {
  const names = new Set(excluded.flatMap((name) => (name === undefined ? [] : [normalised(name)])));
  const left = personsOf(approvers).filter((person) => !person.names.some((name) => names.has(name)));
  return left.map(({ groups }) => groups);
}

/** The first seat that cannot be filled, where a person has one seat in all stages. Augmenting paths. */
function firstShort(seats: readonly Shortage[], persons: readonly (readonly string[])[]): Shortage | undefined {
  const seatOf = new Map<number, number>();
  const place = (seat: number, tried: Set<number>): boolean =>
    persons.some((own, person) => {
      if (tried.has(person) || !takes(seats[seat]?.groups ?? null)(own)) return false;
      tried.add(person);
      const taken = seatOf.get(person);
      if (taken !== undefined && !place(taken, tried)) return false;
      seatOf.set(person, seat);
      return true;
    });
  return seats.find((_, seat) => !place(seat, new Set()));
}
