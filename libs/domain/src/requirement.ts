import type { Assurance, DurationMs, Requirement, Stage } from '@countersign/contracts';

/** Assurance and risk share their levels. */
const levels: Readonly<Record<Assurance, number>> = { low: 1, medium: 2, high: 3 };

/** Returns whether `level` is at least `minimum`; without a minimum always true. */
export function reaches(level: Assurance, minimum: Assurance | null): boolean {
  return minimum === null || levels[level] >= levels[minimum];
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
function seatsOf({ mode, approve, groups }: Stage): readonly (readonly string[] | null)[] {
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

/**
 * The stages of two requirements, one after the other. A stage that another one implies is not asked twice; each stage
 * stands for at most one of the other requirement, because a person's vote counts in one stage.
 */
function concatenated(asked: readonly Stage[], demanded: readonly Stage[]): Stage[] {
  const stages = [...asked];
  const matched = new Set<number>();
  for (const stage of demanded) {
    const index = asked.findIndex((one, at) => !matched.has(at) && (implies(one, stage) || implies(stage, one)));
    const found = asked[index];
    if (found === undefined) {
      stages.push(stage);
      continue;
    }
    matched.add(index);
    // The order of the asked stages stays: the votes name their stage by its place.
    stages[index] = implies(found, stage) ? merged(found, stage) : merged(stage, found);
  }
  return stages;
}

/**
 * The requirement after an edit: that of the current arguments and that of the new ones, both. Otherwise an approver of
 * small refunds could edit a small one into a large one, or a member of a quorum could edit the quorum away. The
 * deadline, its business hours and the batch do not change. Silence approves only where both let it.
 */
export function raised(asked: Requirement, demanded: Requirement): Requirement {
  return {
    ...asked,
    ...(demanded.denyEndsRun === true ? { denyEndsRun: true } : {}),
    stages: concatenated(asked.stages, demanded.stages),
    fourEyes: asked.fourEyes || demanded.fourEyes,
    allowedDecisions: asked.allowedDecisions.filter(
      (decision) => decision === 'deny' || demanded.allowedDecisions.includes(decision),
    ),
    requireReason: [...new Set([...asked.requireReason, ...demanded.requireReason])],
    minAssurance: higher(asked.minAssurance, demanded.minAssurance),
    risk: higher(asked.risk, demanded.risk),
    onTimeout: asked.onTimeout === 'allow' && demanded.onTimeout !== 'allow' ? 'deny' : asked.onTimeout,
    executeByMs: shorter(asked.executeByMs, demanded.executeByMs),
  };
}
