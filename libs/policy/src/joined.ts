import { decisionTypes, ruledBatches } from '@countersign/contracts';
import type { Assurance, BusinessHours, DurationMs, Requirement } from '@countersign/contracts';
import { stagesOf } from './joined-stages.js';
import type { Asked } from './rule.js';

/**
 * Two requirements as one, which is satisfied only where both are. Where their ends differ, no answer in time means
 * denied: an escalation of one must not open seats of the other.
 */
export function joined(one: Asked, other: Asked): Asked {
  const [a, b] = [one.requirement, other.requirement];
  const requirement: Requirement = {
    ...endOf(a, b),
    remindersMs: b.remindersMs,
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

type Time = Pick<Requirement, 'expiresInMs' | 'businessHours'>;
type End = Time & Pick<Requirement, 'onTimeout' | 'escalation'>;

function endOf(one: Requirement, other: Requirement): End {
  const { onTimeout, escalation } = one;
  const isSame =
    onTimeout === other.onTimeout &&
    (onTimeout !== 'escalate' || isSameJson(escalation, other.escalation)) &&
    // Silence, and the people who are asked then, come later where business hours count. Nothing comes of `hold`.
    (onTimeout === 'hold' || hasSameHours(one, other));
  // Silence approves after the longer time, and an escalation comes after it: both give people their whole time.
  if (isSame && onTimeout !== 'deny') {
    const expiresInMs = longer(one.expiresInMs, other.expiresInMs);
    return { onTimeout, escalation, ...timeOf(expiresInMs, one.businessHours ?? other.businessHours) };
  }
  return { onTimeout: 'deny', escalation: [], ...sooner(one, other) };
}

/**
 * The time of a denial that is no later than either end. A requirement has one set of business hours, so where they differ the
 * shorter time counts at any hour.
 */
function sooner(one: Time, other: Time): Time {
  if (!hasSameHours(one, other)) {
    if (other.expiresInMs === 'never') return timeOf(one.expiresInMs, one.businessHours);
    if (one.expiresInMs === 'never') return timeOf(other.expiresInMs, other.businessHours);
    return timeOf(shorter(one.expiresInMs, other.expiresInMs));
  }
  return timeOf(shorter(one.expiresInMs, other.expiresInMs), one.businessHours);
}

function timeOf(expiresInMs: DurationMs, businessHours?: BusinessHours): Time {
  return { expiresInMs, ...(businessHours !== undefined && { businessHours }) };
}

function hasSameHours({ businessHours: one }: Time, { businessHours: other }: Time): boolean {
  return isSameJson(one, other);
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
