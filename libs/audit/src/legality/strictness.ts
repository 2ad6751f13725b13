import type { DurationMs, Requirement, Stage } from '@countersign/contracts';

/**
 * Returns whether people are asked for no less than `recorded` says. A policy that came in force meanwhile may ask for more at the
 * turn of a call.
 */
export function isNoLaxer(asked: Requirement, recorded: Requirement): boolean {
  return (
    recorded.stages.every((stage) => asked.stages.some((other) => coversStage(other, stage))) &&
    isSubset(asked.allowedDecisions, [...recorded.allowedDecisions, 'deny']) &&
    isSubset(recorded.requireReason, asked.requireReason) &&
    isNoLower(asked.minAssurance, recorded.minAssurance) &&
    isNoLower(asked.risk, recorded.risk) &&
    isNoLonger(asked.executeByMs, recorded.executeByMs) &&
    marks.every((mark) => asked[mark] === true || recorded[mark] !== true) &&
    endsNoLaxer(asked, recorded)
  );
}

const marks = ['fourEyes', 'denyEndsRun', 'requireCheckedSchema', 'requireSignature'] as const;

/** The people who satisfy the one stage satisfy the other as well, and as few of them deny. */
function coversStage(asked: Stage, recorded: Stage): boolean {
  if (asked.deny > recorded.deny) return false;
  if (recorded.mode === 'all-of') {
    return asked.mode === 'all-of' && asked.groups !== null && isSubset(recorded.groups ?? [], asked.groups);
  }
  const isOfThem = recorded.groups === null || (asked.groups !== null && isSubset(asked.groups, recorded.groups));
  return isOfThem && asked.approve >= recorded.approve;
}

/** Silence must not approve, or ask others, where it did not before, nor earlier. */
function endsNoLaxer(asked: Requirement, recorded: Requirement): boolean {
  if (asked.onTimeout === 'deny') return isNoLonger(asked.expiresInMs, recorded.expiresInMs);
  return (
    asked.onTimeout === recorded.onTimeout &&
    isNoLonger(recorded.expiresInMs, asked.expiresInMs) &&
    (asked.onTimeout !== 'escalate' || isSame(asked.escalation, recorded.escalation)) &&
    (asked.onTimeout !== 'allow' || isSame(asked.businessHours, recorded.businessHours))
  );
}

function isSubset<T>(some: readonly T[], of: readonly T[]): boolean {
  return some.every((one) => of.includes(one));
}

function isNoLonger(one: DurationMs, other: DurationMs): boolean {
  return other === 'never' || (one !== 'never' && one <= other);
}

const levels = [null, 'low', 'medium', 'high'] as const;

function isNoLower(one: Requirement['risk'], other: Requirement['risk']): boolean {
  return levels.indexOf(one) >= levels.indexOf(other);
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
