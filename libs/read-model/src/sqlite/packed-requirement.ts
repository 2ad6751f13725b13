import type { Requirement, Stage } from '@countersign/contracts';

function packStage(stage: Stage) {
  return [stage.mode, stage.approve, stage.deny, stage.groups] as const;
}

function unpackStage([mode, approve, deny, groups]: ReturnType<typeof packStage>): Stage {
  return { mode, approve, deny, groups };
}

/** A requirement as an array of its values, as in packed-approval.ts. */
export type PackedRequirement = readonly [
  stages: readonly ReturnType<typeof packStage>[],
  fourEyes: Requirement['fourEyes'],
  allowedDecisions: Requirement['allowedDecisions'],
  requireReason: Requirement['requireReason'],
  minAssurance: Requirement['minAssurance'],
  risk: Requirement['risk'],
  expiresInMs: Requirement['expiresInMs'],
  executeByMs: Requirement['executeByMs'],
  onTimeout: Requirement['onTimeout'],
  escalation: Requirement['escalation'],
  remindersMs: Requirement['remindersMs'],
  optional: ReturnType<typeof packOptional>,
];

/** Packs a requirement. */
export function packRequirement(requirement: Requirement): PackedRequirement {
  return [
    requirement.stages.map(packStage),
    requirement.fourEyes,
    requirement.allowedDecisions,
    requirement.requireReason,
    requirement.minAssurance,
    requirement.risk,
    requirement.expiresInMs,
    requirement.executeByMs,
    requirement.onTimeout,
    requirement.escalation,
    requirement.remindersMs,
    packOptional(requirement),
  ];
}

/** The keys that most requirements do not have; null: none of them. */
function packOptional(requirement: Requirement) {
  const { businessHours, batch, denyEndsRun, requireCheckedSchema, requireSignature } = requirement;
  const packed = [
    ...([businessHours ?? null, batch ?? null, denyEndsRun ?? null] as const),
    ...([requireCheckedSchema ?? null, requireSignature ?? null] as const),
  ] as const;
  return packed.every((one) => one === null) ? null : packed;
}

function unpackOptional(packed: ReturnType<typeof packOptional>): Partial<Requirement> {
  const [businessHours, batch, denyEndsRun, requireCheckedSchema, requireSignature] = packed ?? nothing;
  return {
    ...(businessHours === null ? {} : { businessHours }),
    ...(batch === null ? {} : { batch }),
    ...(denyEndsRun === null ? {} : { denyEndsRun }),
    ...(requireCheckedSchema === null ? {} : { requireCheckedSchema }),
    ...(requireSignature === null ? {} : { requireSignature }),
  };
}

const nothing = [null, null, null, null, null] as const;

/** The requirement out of {@link packRequirement}. */
export function unpackRequirement([
  stages,
  fourEyes,
  allowedDecisions,
  requireReason,
  minAssurance,
  risk,
  expiresInMs,
  executeByMs,
  onTimeout,
  escalation,
  remindersMs,
  optional,
]: PackedRequirement): Requirement {
  return {
    stages: stages.map(unpackStage),
    fourEyes,
    allowedDecisions,
    requireReason,
    minAssurance,
    risk,
    expiresInMs,
    executeByMs,
    onTimeout,
    escalation,
    remindersMs,
    ...unpackOptional(optional),
  };
}
