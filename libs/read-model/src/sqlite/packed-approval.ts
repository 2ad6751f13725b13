import type { Requirement, Stage } from '@countersign/contracts';
import type { ApprovalRow, ResponseRow } from '../call-row.js';

/*
 * Records as arrays of their values: names are half of a row's JSON, and a row is written several times in its life. The
 * compiler checks that nothing is left out; a change of the order is a new `schemaVersion`.
 */

function packStage(stage: Stage) {
  return [stage.mode, stage.approve, stage.deny, stage.groups] as const;
}

function unpackStage([mode, approve, deny, groups]: ReturnType<typeof packStage>): Stage {
  return { mode, approve, deny, groups };
}

function packRequirement(requirement: Requirement) {
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
  ] as const;
}

function unpackRequirement([
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
]: ReturnType<typeof packRequirement>): Requirement {
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
  };
}

function packResponseRow(response: ResponseRow) {
  return [
    response.status,
    response.stage,
    response.answer,
    response.decision,
    response.actionDigest,
    response.respondedBy,
    response.onBehalfOf,
    response.groups,
    response.reason,
    response.via,
    response.respondedAt,
  ] as const;
}

function unpackResponseRow([
  status,
  stage,
  answer,
  decision,
  actionDigest,
  respondedBy,
  onBehalfOf,
  groups,
  reason,
  via,
  respondedAt,
]: ReturnType<typeof packResponseRow>): ResponseRow {
  return { status, stage, answer, decision, actionDigest, respondedBy, onBehalfOf, groups, reason, via, respondedAt };
}

function packApprovalRow(approval: ApprovalRow) {
  return [
    approval.seq,
    approval.approvalId,
    approval.round,
    approval.action,
    approval.answer,
    packRequirement(approval.requirement),
    approval.reason,
    approval.description,
    approval.requestedBy,
    approval.requestedAt,
    approval.expiresAt,
    approval.escalations,
    approval.remindersSent,
    approval.responses.map(packResponseRow),
    approval.resolution,
  ] as const;
}

function unpackApprovalRow([
  seq,
  approvalId,
  round,
  action,
  answer,
  requirement,
  reason,
  description,
  requestedBy,
  requestedAt,
  expiresAt,
  escalations,
  remindersSent,
  responses,
  resolution,
]: ReturnType<typeof packApprovalRow>): ApprovalRow {
  return {
    seq,
    approvalId,
    round,
    action,
    answer,
    requirement: unpackRequirement(requirement),
    reason,
    description,
    requestedBy,
    requestedAt,
    expiresAt,
    escalations,
    remindersSent,
    responses: responses.map(unpackResponseRow),
    resolution,
  };
}

/** An approval as it is stored, and back. */
export const approvalPacking = { pack: packApprovalRow, unpack: unpackApprovalRow } as const;
