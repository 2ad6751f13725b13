import type { Requirement, Verdict } from '@countersign/contracts';
import { normalised } from './identity.js';
import { seatsOf } from './requirement.js';
import type { PossibleApprover, ToolCallProposal } from './tool-call.commands.js';

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
  const before = personsOf(without(approvers, [requestedBy, owner]));
  const left = personsOf(without(approvers, [requestedBy, owner, ...chosen]));
  const short = firstShort(stages, left);
  if (short !== undefined && short < (firstShort(stages, before) ?? Infinity)) return short;
  // Attack: the only person of a quorum of two is named, so that no person objects before silence approves.
  const emptied = stages.findIndex((stage) =>
    seatsOf(stage).some((groups) => before.some(takes(groups)) && !left.some(takes(groups))),
  );
  return emptied === -1 ? undefined : emptied;
}

/** Says which stage of a rule lacks approvers. */
export function noApproverDetail(stage: number, { ruleId }: Pick<Verdict, 'ruleId'>): string {
  return `onBehalfOf and parentCallId leave too few approvers for stage ${String(stage + 1)} of "${ruleId}"`;
}

/** Returns whether a person, given by their groups, may take a seat. */
function takes(groups: readonly string[] | null): (own: readonly string[]) => boolean {
  return (own) => groups === null || groups.some((group) => own.includes(group));
}

function without(
  approvers: readonly PossibleApprover[],
  excluded: readonly (string | undefined)[],
): readonly PossibleApprover[] {
  const names = new Set(excluded.flatMap((name) => (name === undefined ? [] : [normalised(name)])));
  return approvers.filter((approver) => !approver.names.some((name) => names.has(normalised(name))));
}

/** The groups of each person: principals that share a name are one. */
function personsOf(approvers: readonly PossibleApprover[]): readonly (readonly string[])[] {
  let persons: readonly PossibleApprover[] = [];
  for (const { names, groups } of approvers) {
    const own = names.map(normalised);
    const isSame = (other: PossibleApprover): boolean => other.names.some((name) => own.includes(name));
    const same = persons.filter(isSame);
    const merged = {
      names: [...own, ...same.flatMap((one) => one.names)],
      groups: [...groups, ...same.flatMap((one) => one.groups)],
    };
    persons = [...persons.filter((one) => !isSame(one)), merged];
  }
  return persons.map(({ groups }) => groups);
}

/** The first stage whose seats cannot be filled, where a person has one seat in all stages. Augmenting paths. */
function firstShort(stages: Requirement['stages'], persons: readonly (readonly string[])[]): number | undefined {
  const seats = stages.flatMap((stage, index) => seatsOf(stage).map((groups) => ({ index, groups })));
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
  return seats.find((_, seat) => !place(seat, new Set()))?.index;
}
