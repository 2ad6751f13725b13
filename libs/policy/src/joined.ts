import { decisionTypes, ruledBatches } from '@countersign/contracts';
import type { Assurance, DurationMs, Requirement, Stage } from '@countersign/contracts';
import type { Asked } from './rule.js';

/**
 * Two requirements as one, which is satisfied only where both are. Where their ends differ, no answer in time means
 * denied: an escalation of one must not open seats of the other.
 */
export function joined(one: Asked, other: Asked): Asked {
  const [a, b] = [one.requirement, other.requirement];
  const requirement: Requirement = {
    ...b,
    ...endOf(a, b),
    stages: stagesOf(a.stages, b.stages),
    fourEyes: a.fourEyes || b.fourEyes,
    allowedDecisions: decisionTypes.filter(
      (type) => type === 'deny' || (a.allowedDecisions.includes(type) && b.allowedDecisions.includes(type)),
    ),
    requireReason: decisionTypes.filter((type) => a.requireReason.includes(type) || b.requireReason.includes(type)),
    minAssurance: higher(a.minAssurance, b.minAssurance),
    risk: higher(a.risk, b.risk),
    executeByMs: shorter(a.executeByMs, b.executeByMs),
    ...marksOf(a, b),
  };
  return { requirement, isExpirySet: one.isExpirySet || other.isExpirySet };
}

/** What one of them asks for, both ask for. */
function marksOf(one: Requirement, other: Requirement): Partial<Requirement> {
  return {
    ...batchOf(one, other),
    ...((one.denyEndsRun ?? other.denyEndsRun) !== undefined && { denyEndsRun: true }),
    ...((one.requireCheckedSchema ?? other.requireCheckedSchema) !== undefined && { requireCheckedSchema: true }),
    ...((one.requireSignature ?? other.requireSignature) !== undefined && { requireSignature: true }),
  };
}

function batchOf(...both: readonly Requirement[]): Pick<Requirement, 'batch'> {
  const batch = ruledBatches.findLast((mode) => both.some((one) => one.batch === mode));
  return batch === undefined ? {} : { batch };
}

/** The stages of both; one that another implies is not asked twice. */
function stagesOf(one: readonly Stage[], other: readonly Stage[]): Stage[] {
  const left = one.filter((stage) => !other.some((stricter) => isImplied(stage, stricter)));
  const right = other.filter((stage) => !left.some((stricter) => isImplied(stage, stricter)));
  return [...left, ...right];
}

/** Returns whether the people who satisfy the stricter stage satisfy the other one as well, and as few can deny it. */
function isImplied({ mode, approve, deny, groups }: Stage, stricter: Stage): boolean {
  if (deny < stricter.deny) return false;
  if (mode === 'all-of') {
    return stricter.mode === 'all-of' && groups?.every((group) => stricter.groups?.includes(group) === true) === true;
  }
  const isWithin = groups === null || stricter.groups?.every((group) => groups.includes(group)) === true;
  return isWithin && approve <= stricter.approve;
}

type End = Pick<Requirement, 'onTimeout' | 'escalation' | 'expiresInMs'>;

function endOf(one: Requirement, other: Requirement): End {
  const expiresInMs = shorter(one.expiresInMs, other.expiresInMs);
  const isSame =
    one.onTimeout === other.onTimeout &&
    (one.onTimeout !== 'escalate' || isSameJson(one.escalation, other.escalation)) &&
    // Silence that counts business hours takes longer.
    (one.onTimeout !== 'allow' || isSameJson(one.businessHours, other.businessHours));
  // Silence approves after the longer time, and an escalation comes after it: both give people their whole time.
  if (isSame && one.onTimeout !== 'deny') {
    const { onTimeout, escalation } = one;
    return { onTimeout, escalation, expiresInMs: longer(one.expiresInMs, other.expiresInMs) };
  }
  return { onTimeout: 'deny', escalation: [], expiresInMs };
}

function isSameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function shorter(one: DurationMs, other: DurationMs): DurationMs {
  if (one === 'never') return other;
  return other === 'never' ? one : Math.min(one, other);
}

function longer(one: DurationMs, other: DurationMs): DurationMs {
  return one === 'never' || other === 'never' ? 'never' : Math.max(one, other);
}

const levels = ['low', 'medium', 'high'] as const;

function higher<Level extends Assurance>(one: Level | null, other: Level | null): Level | null {
  if (one === null || other === null) return one ?? other;
  return levels.indexOf(one) >= levels.indexOf(other) ? one : other;
}
