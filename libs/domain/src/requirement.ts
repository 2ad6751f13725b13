import { assert } from './assert.js';
import type { Assurance, DurationMs, Requirement, Risk, Stage } from '@countersign/contracts';

/** Assurance and risk share their levels. */
const levels: Readonly<Record<Assurance, number>> = { low: 1, medium: 2, high: 3 };

/** Returns whether `level` is at least `minimum`; without a minimum always true. */
export function reaches(level: Assurance, minimum: Assurance | null): boolean {
  return minimum === null || levels[level] >= levels[minimum];
}

/** Returns whether a call's risk is at most that of the grant. A rule without a risk has the lowest. */
export function isWithinRisk(risk: Risk | null, granted: Risk | null): boolean {
  return risk === null || (granted !== null && reaches(granted, risk));
}

/** The highest risk of these requirements. */
export function highestRisk(requirements: readonly Requirement[]): Risk | null {
  return requirements.reduce<Risk | null>((highest, { risk }) => (isWithinRisk(risk, highest) ? highest : risk), null);
}

/** Returns whether only signed responses count under a requirement. An assurance of `high` is a signature, and nothing else. */
export function needsSignature({ requireSignature, minAssurance }: Requirement): boolean {
  return requireSignature === true || minAssurance === 'high';
}

/** How many people must agree to satisfy a stage. */
export function peopleOf(stage: Stage): number {
  return stage.mode === 'all-of' && stage.groups !== null ? stage.groups.length : stage.approve;
}

function higher(one: Assurance | null, other: Assurance | null): Assurance | null {
  if (one === null || other === null) return one ?? other;
  return levels[one] >= levels[other] ? one : other;
}

function shorter(one: DurationMs, other: DurationMs): DurationMs {
  if (one === 'never') return other;
  return other === 'never' ? one : Math.min(one, other);
}

/** Returns whether everybody who satisfies `one` also satisfies `other`. */
function implies(one: Stage, other: Stage): boolean {
  // The seats of an all-of have a group each; those of a quorum are alike, so as many people are needed as seats.
  const isOfEach = other.mode === 'all-of' && other.groups !== null;
  return seatsOf(other).every((groups, seat) => countedIn(one, groups) > (isOfEach ? 0 : seat));
}

/** The groups that may take each seat of a stage; null: any group. */
export function seatsOf({ mode, approve, groups }: Stage): readonly (readonly string[] | null)[] {
  if (mode === 'all-of' && groups !== null) return groups.map((group) => [group]);
  return Array.from({ length: approve }, () => groups);
}

/** How many people of these groups take part in a stage, in any of its seats. */
function countedIn(stage: Stage, groups: readonly string[] | null): number {
  const isOneOf = (seat: readonly string[] | null): boolean =>
    groups === null || (seat?.every((group) => groups.includes(group)) ?? false);
  return seatsOf(stage).filter(isOneOf).length;
}

/** The stage `stronger` in place of both; the fewer denials are enough. */
function merged(stronger: Stage, weaker: Stage): Stage {
  return { ...stronger, deny: Math.min(stronger.deny, weaker.deny) };
}

/** One stage of one requirement of a list, by their places. */
export interface Member {
  readonly requirement: number;
  readonly stage: number;
}

/**
 * The stages that are asked together: one of a requirement, and those of other requirements that it implies or that
 * imply it. A person's vote counts in one column, so two requirements that do not imply each other need two people.
 */
export interface Column {
  readonly members: readonly Member[];
  /** The strongest of the stages, with the fewest denials. */
  readonly stage: Stage;
}

/**
 * The columns of a list of requirements, those of the first one in its order, then what the others ask in addition. A
 * stage stands for at most one stage of another requirement.
 */
export function columnsOf(requirements: readonly Requirement[]): readonly Column[] {
  const [first, ...others] = requirements;
  // As nearly always: the stages of one requirement are asked one after the other, whether or not they imply each other.
  if (first !== undefined && others.length === 0)
    return first.stages.map((stage, index) => ({ members: [{ requirement: 0, stage: index }], stage }));
  const columns: Column[] = [];
  for (const [requirement, { stages }] of requirements.entries()) {
    const matched = new Set<number>();
    const before = columns.length;
    for (const [index, stage] of stages.entries()) {
      const member = { requirement, stage: index };
      const at = columns.findIndex(
        (column, place) =>
          place < before && !matched.has(place) && (implies(column.stage, stage) || implies(stage, column.stage)),
      );
      const found = columns[at];
      if (found === undefined) {
        columns.push({ members: [member], stage });
        continue;
      }
      matched.add(at);
      const both = implies(found.stage, stage) ? merged(found.stage, stage) : merged(stage, found.stage);
      columns[at] = { members: [...found.members, member], stage: both };
    }
  }
  return columns;
}

/** The shortest time to run, and the stricter of everything that has a stricter side. Its stages are the columns. */
export function inForce(requirements: readonly Requirement[]): Requirement {
  const [first, ...others] = requirements;
  assert(first !== undefined, 'a proposal has a requirement');
  if (others.length === 0) return first;
  return { ...others.reduce(stricter, first), stages: columnsOf(requirements).map(({ stage }) => stage) };
}

/** The deadline, its business hours, its end and the batch stay those of the first: the others have their own. */
function stricter(one: Requirement, other: Requirement): Requirement {
  return {
    ...one,
    ...(other.denyEndsRun === true ? { denyEndsRun: true } : {}),
    ...(other.requireCheckedSchema === true ? { requireCheckedSchema: true } : {}),
    ...(other.requireSignature === true ? { requireSignature: true } : {}),
    fourEyes: one.fourEyes || other.fourEyes,
    allowedDecisions: one.allowedDecisions.filter(
      (decision) => decision === 'deny' || other.allowedDecisions.includes(decision),
    ),
    requireReason: [...new Set([...one.requireReason, ...other.requireReason])],
    minAssurance: higher(one.minAssurance, other.minAssurance),
    risk: higher(one.risk, other.risk),
    executeByMs: shorter(one.executeByMs, other.executeByMs),
  };
}
