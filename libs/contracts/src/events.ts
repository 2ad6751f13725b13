import { z } from 'zod';
import { batchBegunSchema, batchBrokenSchema } from './batch-events.js';
import type { BatchEvent } from './batch-events.js';
import { deliveryEventSchemas } from './delivery-events.js';
import type { DeliveryEvent } from './delivery-events.js';
import { jsonObjectSchema, jsonValueSchema } from './json.js';
import { assuranceSchema, batchModes, timeSchema } from './primitives.js';
import { requestRefusedSchema } from './refusal-events.js';
import type { RefusalEvent } from './refusal-events.js';
import { requirementSchema, verdictSchema } from './requirement.js';
import { runCancelledSchema } from './run-events.js';
import type { RunEvent } from './run-events.js';

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);

/** The proposal, exactly as recorded: the bytes that the approver sees and that will run. */
export const toolCallRequestedSchema = z.strictObject({
  callId: z.string(),
  tenant: z.string(),
  runId: z.string(),
  agentId: z.string(),
  batchId: z.string().nullable(),
  batchMode: z.enum(batchModes),
  /** The callIds of every member of the batch, this one included; empty when the call stands alone. */
  batchCallIds: z.array(z.string()),
  toolCallId: z.string(),
  toolName: z.string(),
  arguments: jsonObjectSchema,
  toolSchema: jsonObjectSchema.nullable(),
  toolSchemaHash: digest.nullable(),
  salt: z.string().nullable(),
  actionDigest: digest,
  /** JSON pointers of the sensitive values in `arguments`. */
  sensitive: z.array(z.string()),
  needsApproval: z.boolean(),
  reason: z.string().nullable(),
  description: z.string().nullable(),
  clientExecuted: z.boolean(),
  idempotent: z.boolean(),
  labels: z.record(z.string(), z.string()),
  requestedBy: z.string(),
  requestedAt: timeSchema,
});

export const toolCallAllowedSchema = z.strictObject({ verdict: verdictSchema, allowedAt: timeSchema });

export const toolCallBlockedSchema = z.strictObject({
  verdict: verdictSchema,
  reason: z.string(),
  blockedAt: timeSchema,
});

export const approvalRequestedSchema = z.strictObject({
  approvalId: z.string(),
  round: z.int().min(1),
  actionDigest: digest,
  verdict: verdictSchema,
  requirement: requirementSchema,
  reason: z.string().nullable(),
  description: z.string().nullable(),
  requestedBy: z.string(),
  requestedAt: timeSchema,
  expiresAt: timeSchema.nullable(),
});

/** What people were not told when they were asked, added while the approval is pending. It never replaces what they read. */
export const approvalDescribedSchema = z.strictObject({
  approvalId: z.string(),
  /** Null: nothing is added. */
  reason: z.string().nullable(),
  description: z.string().nullable(),
  describedBy: z.string(),
  describedAt: timeSchema,
});

/** One person's decision as recorded. An edit carries the full new arguments and the digest that they have. */
const recordedDecisionSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('approve') }),
  z.strictObject({
    type: z.literal('edit'),
    arguments: jsonObjectSchema,
    sensitive: z.array(z.string()),
    salt: z.string().nullable(),
    verdict: verdictSchema,
    /** In force from this edit on, where the edited arguments call for more than was asked; null: what was asked stands. */
    requirement: requirementSchema.nullable(),
  }),
  z.strictObject({ type: z.literal('deny') }),
  z.strictObject({ type: z.literal('answer'), output: jsonValueSchema }),
]);
export type RecordedDecision = z.infer<typeof recordedDecisionSchema>;

const approvalRespondedSchema = z.strictObject({
  approvalId: z.string(),
  decision: recordedDecisionSchema,
  /** The digest that this response answers; after an edit, that of the edited arguments. */
  actionDigest: digest,
  reason: z.string().nullable(),
  instruction: z.string().nullable(),
  respondedBy: z.string(),
  /** The person on whose behalf a delegate answered. */
  onBehalfOf: z.string().nullable(),
  groups: z.array(z.string()),
  via: z.string(),
  assurance: assuranceSchema,
  /** True only where the policy said in words that silence approves. */
  automatic: z.boolean(),
  respondedAt: timeSchema,
  resolution: z.enum(['pending', 'approved', 'denied']),
  /** When the right to run an approved call ends; null while pending, when denied, and for `never`. */
  executeBy: timeSchema.nullable(),
});

export const responseWithdrawnSchema = z.strictObject({
  approvalId: z.string(),
  withdrawnBy: z.string(),
  withdrawnAt: timeSchema,
});

/** A person who may answer an approval looked at its hidden values. Recorded before the values leave. */
export const valuesRevealedSchema = z.strictObject({
  approvalId: z.string(),
  revealedBy: z.string(),
  /** JSON pointers of the values that were shown. */
  pointers: z.array(z.string()),
  via: z.string(),
  revealedAt: timeSchema,
});

export const approvalExpiredSchema = z.strictObject({ approvalId: z.string(), expiredAt: timeSchema });

export const approvalEscalatedSchema = z.strictObject({
  approvalId: z.string(),
  /** 1 for the first escalation. */
  level: z.int().min(1),
  to: z.array(z.string()),
  /** Null: the deadline is over and the approval is held open (`onTimeout: hold`). */
  expiresAt: timeSchema.nullable(),
  escalatedAt: timeSchema,
});

export const approversRemindedSchema = z.strictObject({
  approvalId: z.string(),
  /** 1 for the first reminder. */
  nth: z.int().min(1),
  remindedAt: timeSchema,
});

export const approvalLapsedSchema = z.strictObject({ approvalId: z.string(), lapsedAt: timeSchema });

export const toolCallCancelledSchema = z.strictObject({
  /** The approval that was pending and ended with the call. */
  approvalId: z.string().nullable(),
  reason: z.string(),
  cancelledBy: z.string(),
  cancelledAt: timeSchema,
});

/**
 * The all-or-nothing batch of the call has begun, and the call takes note: it can no longer be called off, its right to run has
 * no end, and a question that was put too late is closed.
 */
export const toolCallCommittedSchema = z.strictObject({
  /** The approval that was pending, of a call that had been allowed; null: none was. */
  approvalId: z.string().nullable(),
  committedAt: timeSchema,
});

export const executionClaimedSchema = z.strictObject({
  /** The fencing token: 1 for the first claim, then growing. */
  attempt: z.int().min(1),
  resolverId: z.string(),
  claimedBy: z.string(),
  actionDigest: digest,
  idempotencyKey: z.string(),
  /** The command that claimed: a retry of it gets this claim again, and no later one. Absent in older logs. */
  claimId: z.string().exactOptional(),
  claimedAt: timeSchema,
  leaseUntil: timeSchema,
});

export const executionClaimRenewedSchema = z.strictObject({
  attempt: z.int().min(1),
  leaseUntil: timeSchema,
  renewedAt: timeSchema,
});

const reported = {
  /** The claim that reports; null when the client executed the call. */
  attempt: z.int().min(1).nullable(),
  executedBy: z.enum(['resolver', 'client']),
  reportedBy: z.string(),
  reportedAt: timeSchema,
  /** The report came after this; absent when it came in time. */
  late: z.enum(['lease-over', 'outcome-unknown', 'execute-by-over']).exactOptional(),
};

export const executionSucceededSchema = z.strictObject({ ...reported, output: jsonValueSchema });

export const executionFailedSchema = z.strictObject({ ...reported, error: jsonValueSchema });

/** The lease of an idempotent tool is over without a report: the call is claimable again. */
export const executionLapsedSchema = z.strictObject({ attempt: z.int().min(1), lapsedAt: timeSchema });

/** Nobody knows whether the tool ran: never retried by itself, a person reconciles. */
export const executionOutcomeUnknownSchema = z.strictObject({
  attempt: z.int().min(1),
  reason: z.string(),
  unknownSince: timeSchema,
});

export const executionReconciledSchema = z.strictObject({
  status: z.enum(['succeeded', 'failed', 'retry']),
  note: z.string(),
  reconciledBy: z.string(),
  reconciledAt: timeSchema,
});

/** The stored format of every event of the stream `toolCall-<callId>`, by type. */
export const toolCallEventSchemas = {
  ToolCallRequested: toolCallRequestedSchema,
  ToolCallAllowed: toolCallAllowedSchema,
  ToolCallBlocked: toolCallBlockedSchema,
  ApprovalRequested: approvalRequestedSchema,
  ApprovalDescribed: approvalDescribedSchema,
  ApprovalResponded: approvalRespondedSchema,
  ResponseWithdrawn: responseWithdrawnSchema,
  ValuesRevealed: valuesRevealedSchema,
  ApprovalExpired: approvalExpiredSchema,
  ApprovalEscalated: approvalEscalatedSchema,
  ApproversReminded: approversRemindedSchema,
  ApprovalLapsed: approvalLapsedSchema,
  ToolCallCancelled: toolCallCancelledSchema,
  ToolCallCommitted: toolCallCommittedSchema,
  ExecutionClaimed: executionClaimedSchema,
  ExecutionClaimRenewed: executionClaimRenewedSchema,
  ExecutionSucceeded: executionSucceededSchema,
  ExecutionFailed: executionFailedSchema,
  ExecutionLapsed: executionLapsedSchema,
  ExecutionOutcomeUnknown: executionOutcomeUnknownSchema,
  ExecutionReconciled: executionReconciledSchema,
} as const;

/** The name of a tool call's event. */
export type ToolCallEventType = keyof typeof toolCallEventSchemas;

export const toolCallEventTypes = Object.keys(toolCallEventSchemas) as ToolCallEventType[];

/** The data of one event type. */
export type EventData<T extends ToolCallEventType> = z.infer<(typeof toolCallEventSchemas)[T]>;

/** A tool call's event as the decider makes and folds it: a union discriminated by `type`. */
export type ToolCallEvent = {
  [T in ToolCallEventType]: { readonly type: T; readonly data: EventData<T> };
}[ToolCallEventType];

export const policyActivatedSchema = z.strictObject({
  policyVersion: digest,
  content: jsonObjectSchema,
  activatedBy: z.string(),
  activatedAt: timeSchema,
});

/** Events of a tenant's policy stream, `policy-<tenant>`. */
export interface PolicyEvent {
  readonly type: 'PolicyActivated';
  readonly data: z.infer<typeof policyActivatedSchema>;
}

/** Every event that Countersign records. */
export type LedgerEvent = ToolCallEvent | PolicyEvent | RefusalEvent | RunEvent | BatchEvent | DeliveryEvent;

export const eventSchemas = {
  ...toolCallEventSchemas,
  PolicyActivated: policyActivatedSchema,
  RequestRefused: requestRefusedSchema,
  RunCancelled: runCancelledSchema,
  BatchBegun: batchBegunSchema,
  BatchBroken: batchBrokenSchema,
  ...deliveryEventSchemas,
} as const;

export type EventType = LedgerEvent['type'];

export const eventTypes = Object.keys(eventSchemas) as EventType[];

/** The version in which events are written today; `upcast` lifts older ones. */
export const currentSchemaVersion = 1;

/** What is stored beside an event's data. */
export interface EventMetadata {
  readonly tenant: string;
  /** Null for events that belong to no call. */
  readonly callId: string | null;
  readonly runId: string | null;
  readonly schemaVersion: number;
  /** The command that made the event: a repeat of it is recognised by this id. */
  readonly commandId: string;
}

/** An event about to be appended. Its id is chosen by the writer, so that an append of unknown outcome can be repeated. */
export interface NewEvent<E extends LedgerEvent = LedgerEvent> {
  readonly eventId: string;
  readonly type: E['type'];
  readonly data: E['data'];
  readonly metadata: EventMetadata;
}

/** An event as the event store recorded it. */
export interface RecordedEvent extends NewEvent {
  readonly stream: string;
  /** 0 for the first event of the stream. */
  readonly revision: number;
  /** Grows over the whole log; gaps are allowed. */
  readonly position: number;
  readonly recordedAt: string;
}

/** The fold's input out of a recorded event. The stored pair (type, data) was validated when it was written. */
export function toToolCallEvent(event: Pick<RecordedEvent, 'type' | 'data'>): ToolCallEvent {
  return event as ToolCallEvent;
}
