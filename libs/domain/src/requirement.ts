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

function peopleOfAll(stages: readonly Stage[]): number {
  return stages.reduce((sum, stage) => sum + peopleOf(stage), 0);
}

function higher(one: Assurance | null, other: Assurance | null): Assurance | null {
  if (one === null || other === null) return one ?? other;
  return levels[one] >= levels[other] ? one : other;
}

function shorter(one: DurationMs, other: DurationMs): DurationMs {
  if (one === 'never') return other;
  return other === 'never' ? one : Math.min(one, other);
}

/**
 * The requirement after an edit. The rule of the new arguments decides who must agree, unless it needs fewer people
 * than the current requirement: otherwise an approver of small refunds could edit a small one into a large one, or a
 * member of a quorum could edit the quorum away. Deadline and allowed decisions do not change.
 */
export function raised(asked: Requirement, demanded: Requirement): Requirement {
  return {
    ...asked,
    stages: peopleOfAll(demanded.stages) >= peopleOfAll(asked.stages) ? demanded.stages : asked.stages,
    fourEyes: asked.fourEyes || demanded.fourEyes,
    requireReason: [...new Set([...asked.requireReason, ...demanded.requireReason])],
    minAssurance: higher(asked.minAssurance, demanded.minAssurance),
    risk: higher(asked.risk, demanded.risk),
    executeByMs: shorter(asked.executeByMs, demanded.executeByMs),
  };
}
