import type { People } from '@countersign/commands';
import type { World } from './world.ts';

/** A person is away for a time, and another responds in their place. */
export interface Absence {
  readonly who: string;
  readonly delegate: string;
  readonly from: string;
  readonly until: string;
}

/** The absences of every world, which begins with the year 2030. */
export const absences: readonly Absence[] = [
  { who: 'dora', delegate: 'alice', from: '2030-01-01T00:00:10.000Z', until: '2030-01-01T00:01:00.000Z' },
  { who: 'carla', delegate: 'bob', from: '2030-01-01T00:00:00.000Z', until: '2030-01-01T00:00:40.000Z' },
];

/** A person loses the role of an approver: from then on the tokens file does not have them. */
export interface Departure {
  readonly who: string;
  readonly at: string;
}

/** Draws the departure of a world: in most of them, one of the people in whose place another one responds at that time. */
export function drawDeparture({ random }: World): Departure | null {
  if (random.chance(0.4)) return null;
  const { who, from, until } = random.pick(absences);
  const [begin, end] = [Date.parse(from), Date.parse(until)];
  return { who, at: new Date(begin + random.below((end - begin) / 2)).toISOString() };
}

/** Returns whether the person has lost the role at a time, epoch milliseconds. */
export function hasLeft(departure: Departure | null, principal: string, atMs: number): boolean {
  return departure !== null && departure.who === principal && Date.parse(departure.at) <= atMs;
}

/** The tokens file as a process reads it: the change is there by its clock. */
export function peopleOf(departure: Departure | null, { now }: { readonly now: () => number }): People {
  return {
    approver: (_, principal) => (hasLeft(departure, principal, now()) ? undefined : { groups: [], isAway: false }),
    approvers: () => undefined,
    names: () => [],
  };
}
