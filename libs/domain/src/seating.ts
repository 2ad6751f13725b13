import { comparedIdentity } from './compared-identity.js';
import type { PossibleApprover } from './tool-call.response-commands.js';

/** A seat for one person. */
export interface Seat {
  /** The place of its stage, from 0. */
  readonly stage: number;
  /** The groups that may take it; null: every approver. */
  readonly groups: readonly string[] | null;
}

/** Returns whether a person may take a seat. */
export function takes(groups: readonly string[] | null): (own: Pick<Person, 'groups'>) => boolean {
  return (own) => groups === null || groups.some((group) => own.groups.includes(group));
}

/** A person under all their names, with the groups of all of them. */
interface Person {
  readonly names: readonly string[];
  readonly groups: readonly string[];
  /** Any number of people without names. */
  readonly isMany: boolean;
}

const personsOfLists = new WeakMap<readonly PossibleApprover[], readonly Person[]>();

/** The people of a list of approvers: principals that share a name are one. The same list is asked for at each look. */
function personsOf(approvers: readonly PossibleApprover[]): readonly Person[] {
  const known = personsOfLists.get(approvers);
  if (known !== undefined) return known;
  const byName = new Map<string, Person>();
  for (const approver of approvers.filter(({ isMany }) => isMany !== true)) {
    const own = approver.names.map(comparedIdentity);
    const same = [...new Set(own.flatMap((name) => byName.get(name) ?? []))];
    const names = [...new Set([...own, ...same.flatMap((one) => one.names)])];
    const person = { isMany: false, names, groups: [...approver.groups, ...same.flatMap((one) => one.groups)] };
    for (const name of names) byName.set(name, person);
  }
  const crowds = approvers.filter(({ isMany }) => isMany === true).map((one) => ({ ...one, isMany: true }));
  const persons = [...new Set(byName.values()), ...crowds];
  personsOfLists.set(approvers, persons);
  return persons;
}

/** Each person whom none of these names is. Of many people without names any number is left. */
export function without(
  approvers: readonly PossibleApprover[],
  excluded: readonly (string | undefined)[],
): readonly Person[] {
  const names = new Set(excluded.flatMap((name) => (name === undefined ? [] : [comparedIdentity(name)])));
  return personsOf(approvers).filter((person) => !person.names.some((name) => names.has(name)));
}

/** The first seat that cannot be filled, where a person has one seat in all stages. Augmenting paths. */
export function firstShort(seats: readonly Seat[], persons: readonly Person[]): Seat | undefined {
  const seatOf = new Map<number, number>();
  const place = (seat: number, tried: Set<number>): boolean =>
    persons.some((own, person) => {
      if (tried.has(person) || !takes(seats[seat]?.groups ?? null)(own)) return false;
      if (own.isMany) return true;
      tried.add(person);
      const taken = seatOf.get(person);
      if (taken !== undefined && !place(taken, tried)) return false;
      seatOf.set(person, seat);
      return true;
    });
  return seats.find((_, seat) => !place(seat, new Set()));
}
