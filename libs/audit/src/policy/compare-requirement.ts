import type { Requirement, Stage } from '@countersign/contracts';
import { canonicalForm } from '../canonical.js';
import type { Asked } from './written-requirement.js';

/** How a recorded requirement compares with what a rule asks: equal but for the wishes of a request, or else what differs. */
export type Compared = 'equal' | 'wished' | { readonly differs: string };

/** Compares a recorded requirement with what a rule asks. A request may wish for less time and for fewer decisions. */
export function compareRequirement(recorded: Requirement, { requirement, isExpirySet }: Asked): Compared {
  const names = new Set([...Object.keys(recorded), ...Object.keys(requirement)]) as Set<keyof Requirement>;
  const differs = [...names].find((name) => !wishes.has(name) && !isSame(recorded[name], requirement[name]));
  if (differs !== undefined) return { differs };
  const permitted = permittedBy(requirement);
  if (!recorded.allowedDecisions.every((one) => permitted.has(one)) || !recorded.allowedDecisions.includes('deny')) {
    return { differs: 'allowedDecisions' };
  }
  const isAsked = recorded.expiresInMs === requirement.expiresInMs;
  // A shorter time is a denial at most: where silence approves or others are asked then, it would be less.
  const mayDiffer = requirement.onTimeout === 'deny' && (!isExpirySet || isWithin(recorded.expiresInMs, requirement));
  if (!isAsked && !mayDiffer) return { differs: 'expiresInMs' };
  return isAsked && recorded.allowedDecisions.length === permitted.size ? 'equal' : 'wished';
}

const wishes: ReadonlySet<keyof Requirement> = new Set(['expiresInMs', 'allowedDecisions'] as const);

/** A person can always deny. */
function permittedBy({ allowedDecisions }: Requirement): ReadonlySet<string> {
  return new Set([...allowedDecisions, 'deny']);
}

function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  return one !== undefined && other !== undefined && canonicalForm(one) === canonicalForm(other);
}

function isWithin(ms: Requirement['expiresInMs'], { expiresInMs }: Requirement): boolean {
  return expiresInMs === 'never' || (ms !== 'never' && ms <= expiresInMs);
}

/**
 * The part of a rule's requirement that a recorded one falls short of; undefined: it asks at least as much, as where several rules
 * count together. Where their ends differ, silence denies.
 */
export function lessThan(recorded: Requirement, { requirement, isExpirySet }: Asked): keyof Requirement | undefined {
  const permitted = permittedBy(requirement);
  const shortfalls: Readonly<Partial<Record<keyof Requirement, boolean>>> = {
    stages: !includesStages(recorded.stages, requirement.stages),
    fourEyes: requirement.fourEyes && !recorded.fourEyes,
    allowedDecisions: !recorded.allowedDecisions.every((one) => permitted.has(one)),
    requireReason: !requirement.requireReason.every((one) => recorded.requireReason.includes(one)),
    minAssurance: rankOf(recorded.minAssurance) < rankOf(requirement.minAssurance),
    risk: rankOf(recorded.risk) < rankOf(requirement.risk),
    executeByMs: msOf(recorded.executeByMs) > msOf(requirement.executeByMs),
    ...endsLess(recorded, requirement, isExpirySet),
    batch: batches.indexOf(recorded.batch) < batches.indexOf(requirement.batch),
    denyEndsRun: requirement.denyEndsRun === true && recorded.denyEndsRun !== true,
    requireCheckedSchema: requirement.requireCheckedSchema === true && recorded.requireCheckedSchema !== true,
    requireSignature: requirement.requireSignature === true && recorded.requireSignature !== true,
  };
  return (Object.keys(shortfalls) as (keyof Requirement)[]).find((name) => shortfalls[name] === true);
}

function endsLess(recorded: Requirement, requirement: Requirement, isExpirySet: boolean) {
  const [time, ruled] = [msOf(recorded.expiresInMs), msOf(requirement.expiresInMs)];
  // Two rules with another end have the longer time of both, also where a third one makes that end a denial.
  const isBounded = isExpirySet && requirement.onTimeout === 'deny';
  const hasSameHours = isSame(recorded.businessHours, requirement.businessHours);
  if (recorded.onTimeout === 'deny') {
    const isLater = ruled < Infinity && recorded.businessHours !== undefined && !hasSameHours;
    return { expiresInMs: isBounded && time > ruled, businessHours: isBounded && isLater };
  }
  return {
    onTimeout: recorded.onTimeout !== requirement.onTimeout,
    escalation: !isSame(recorded.escalation, requirement.escalation),
    expiresInMs: time < ruled,
    // Silence must not approve, and nobody else be asked, while people are away.
    businessHours: recorded.onTimeout !== 'hold' && !hasSameHours,
  };
}

/** Returns whether each of these stages is included in a stage of its own: a person's vote counts in one stage. Augmenting paths. */
function includesStages(recorded: readonly Stage[], asked: readonly Stage[]): boolean {
  const heldBy = new Map<number, Stage>();
  const place = (stage: Stage, tried: Set<number>): boolean =>
    recorded.some((one, index) => {
      if (tried.has(index) || !includesStage(one, stage)) return false;
      tried.add(index);
      const taken = heldBy.get(index);
      if (taken !== undefined && !place(taken, tried)) return false;
      heldBy.set(index, stage);
      return true;
    });
  return asked.every((stage) => place(stage, new Set()));
}

/** Returns whether the people who satisfy one stage satisfy the other one as well, and as few can deny it. */
function includesStage(one: Stage, other: Stage): boolean {
  if (one.deny > other.deny) return false;
  if (other.mode === 'all-of') return one.mode === 'all-of' && hasAll(one.groups, other.groups);
  return peopleOf(one) >= other.approve && (other.groups === null || hasAll(other.groups, one.groups));
}

function peopleOf({ mode, approve, groups }: Stage): number {
  return mode === 'all-of' && groups !== null ? groups.length : approve;
}

function hasAll(groups: Stage['groups'], wanted: Stage['groups']): boolean {
  return wanted?.every((group) => groups?.includes(group) === true) === true;
}

const levels = [null, 'low', 'medium', 'high'] as const;
const batches: readonly Requirement['batch'][] = [undefined, 'sequential', 'all-or-nothing', 'any-asks-all'];

/** The place of a level of assurance or risk, from none to high. */
export function rankOf(level: (typeof levels)[number]): number {
  return levels.indexOf(level);
}

function msOf(time: number | 'never'): number {
  return time === 'never' ? Infinity : time;
}
