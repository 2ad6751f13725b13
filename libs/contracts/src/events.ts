import { z } from 'zod';
import { toolHintsSchema } from './tool-hints.js';
import {
  approvalDescribedSchema,
  approvalEscalatedSchema,
  approvalExpiredSchema,
  approvalLapsedSchema,
  approvalRequestedSchema,
  approvalRespondedSchema,
  approversRemindedSchema,
  responseWithdrawnSchema,
  valuesRevealedSchema,
} from './approval-events.js';
import { batchBegunSchema, batchBrokenSchema } from './batch-events.js';
import type { BatchEvent } from './batch-events.js';
import { proofShape } from './credentials.js';
import type { CalledTool } from './called-tool.js';
import { deliveryEventSchemas } from './delivery-events.js';
import type { DeliveryEvent } from './delivery-events.js';
import {
  executionClaimedSchema,
  executionClaimRenewedSchema,
  executionSucceededSchema,
  executionFailedSchema,
  executionLapsedSchema,
  executionOutcomeUnknownSchema,
  executionReconciledSchema,
} from './execution-events.js';
import { grantEventSchemas } from './grant-events.js';
import type { GrantEvent } from './grant-events.js';
import { jsonObjectSchema } from './json.js';
import { chainLinkSchema, nestingMax } from './nesting.js';
import { passkeyEventSchemas } from './passkey-events.js';
import type { PasskeyEvent } from './passkey-events.js';
import { presentedSchema } from './presented.js';
import { policyActivatedSchema, toolCallShadowJudgedSchema } from './policy-events.js';
import type { PolicyEvent } from './policy-events.js';
import { batchModeSchema, digestSchema, timeSchema } from './primitives.js';
import { requestRefusedSchema } from './refusal-events.js';
import type { RefusalEvent } from './refusal-events.js';
import { requirementSchema, verdictSchema } from './requirement.js';
import { runCancelledSchema } from './run-events.js';
import type { RunEvent } from './run-events.js';
import { schemaNoteSchema } from './schema-notes.js';
import { subjectErasedSchema } from './subject-events.js';
import type { SubjectEvent } from './subject-events.js';
import { systemEventSchemas } from './system-events.js';
import type { SystemEvent } from './system-events.js';

/** The proposal, exactly as recorded: the bytes that the approver sees and that will run. */
export const toolCallRequestedSchema = z.strictObject({
  callId: z.string(),
  tenant: z.string(),
  runId: z.string(),
  agentId: z.string(),
  batchId: z.string().nullable(),
  batchMode: batchModeSchema,
  /** The callIds of all members of the batch including this one; empty for a single call. */
  batchCallIds: z.array(z.string()),
  /** The rule that made the step all-or-nothing or sequential, although the request was for independent calls; absent: no rule did. */
  batchRuleId: z.exactOptional(z.string()),
  toolCallId: z.string(),
  toolName: z.string(),
  arguments: jsonObjectSchema,
  toolSchema: jsonObjectSchema.nullable(),
  toolSchemaHash: digestSchema.nullable(),
  /** The parts of the schema that were not checked; absent: none. */
  schemaNotes: z.exactOptional(z.array(schemaNoteSchema).min(1)),
  salt: z.string().nullable(),
  actionDigest: digestSchema,
  /** JSON pointers of the sensitive values in `arguments`. */
  sensitive: z.array(z.string()),
  needsApproval: z.boolean(),
  reason: z.string().nullable(),
  description: z.string().nullable(),
  /** What the agent says of the call besides, for people alone; absent: it says nothing. */
  ...presentedSchema.shape,
  clientExecuted: z.boolean(),
  idempotent: z.boolean(),
  labels: z.record(z.string(), z.string()),
  /** The annotations of the MCP tool, in the agent's words; absent: it sent none. */
  hints: z.exactOptional(toolHintsSchema),
  requestedBy: z.string(),
  /** The person responsible for the agent, according to the operator's file. */
  owner: z.string().exactOptional(),
  /** The person for whom the agent says that it acts. */
  onBehalfOf: z.string().exactOptional(),
  /** The calls inside which this one runs, the outermost first; absent for a call that is not nested. */
  chain: z.array(chainLinkSchema).min(1).max(nestingMax).exactOptional(),
  requestedAt: timeSchema,
});

/** The policy, or a grant, allows the call: nobody is asked. */
export const toolCallAllowedSchema = z.strictObject({ verdict: verdictSchema, allowedAt: timeSchema });

/**
 * A sequential call is judged, and waits for its turn. At its turn it is allowed, or people are asked, as recorded here. Its
 * place in the queue of its run is the position of this event; a later one while it waits keeps the place.
 */
export const toolCallQueuedSchema = z.strictObject({
  verdict: verdictSchema,
  /** What people will be asked; null: the verdict allows the call. */
  question: z
    .strictObject({
      approvalId: z.string(),
      round: z.int().min(1),
      requirement: requirementSchema,
      reason: z.string().nullable(),
      description: z.string().nullable(),
      requestedBy: z.string(),
    })
    .nullable(),
  queuedAt: timeSchema,
});

/** The policy forbids the call: it never runs. */
export const toolCallBlockedSchema = z.strictObject({
  verdict: verdictSchema,
  reason: z.string(),
  blockedAt: timeSchema,
});

/** The call ends without running: it was called off, its run ended, or its batch cannot run. */
export const toolCallCancelledSchema = z.strictObject({
  /** The approval that was pending and ended with the call. */
  approvalId: z.string().nullable(),
  reason: z.string(),
  cancelledBy: z.string(),
  cancelledAt: timeSchema,
  ...proofShape,
});

/**
 * The call's all-or-nothing batch has begun. From now on the call cannot be cancelled, its right to run does not lapse,
 * and an approval that was requested too late is closed.
 */
export const toolCallCommittedSchema = z.strictObject({
  /** The approval that was pending, of a call that had been allowed; null: none was. */
  approvalId: z.string().nullable(),
  committedAt: timeSchema,
});

/** The stored format of every event of the stream `toolCall-<callId>`, by type. */
export const toolCallEventSchemas = {
  ToolCallRequested: toolCallRequestedSchema,
  ToolCallAllowed: toolCallAllowedSchema,
  ToolCallBlocked: toolCallBlockedSchema,
  ToolCallQueued: toolCallQueuedSchema,
  ToolCallShadowJudged: toolCallShadowJudgedSchema,
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

/** Every event that Countersign records. */
export type LedgerEvent =
  | ToolCallEvent
  | PolicyEvent
  | RefusalEvent
  | RunEvent
  | BatchEvent
  | GrantEvent
  | DeliveryEvent
  | SubjectEvent
  | PasskeyEvent
  | SystemEvent;

export const eventSchemas = {
  ...toolCallEventSchemas,
  PolicyActivated: policyActivatedSchema,
  ShadowPolicyActivated: policyActivatedSchema,
  RequestRefused: requestRefusedSchema,
  RunCancelled: runCancelledSchema,
  BatchBegun: batchBegunSchema,
  BatchBroken: batchBrokenSchema,
  ...grantEventSchemas,
  ...deliveryEventSchemas,
  SubjectErased: subjectErasedSchema,
  ...passkeyEventSchemas,
  ...systemEventSchemas,
} as const;

export type EventType = LedgerEvent['type'];

/** The events that record how the person proved who they are. */
export const provenTypes: ReadonlySet<EventType> = new Set<EventType>([
  ...(['ApprovalRequested', 'ApprovalDescribed', 'ApprovalResponded', 'ResponseWithdrawn', 'ValuesRevealed'] as const),
  ...(['ToolCallCancelled', 'RunCancelled'] as const),
  ...(['ExecutionSucceeded', 'ExecutionFailed', 'ExecutionReconciled'] as const),
  'GrantProposed',
  'GrantCreated',
  'GrantConfirmed',
  'GrantRevoked',
  'SubjectErased',
  'PasskeyRegistered',
  'PasskeyConfirmed',
  'PasskeyRemoved',
  'StopDeclared',
  'StopLifted',
]);

export const eventTypes = Object.keys(eventSchemas) as EventType[];

/**
 * The version of newly written events; `upcast` converts older ones. Version 2 votes on proposals: each has its own
 * requirements, votes and escalations.
 */
export const currentSchemaVersion = 2;

/** The metadata of an event. */
export interface EventMetadata {
  readonly tenant: string;
  /** Null for events that belong to no call. */
  readonly callId: string | null;
  readonly runId: string | null;
  readonly schemaVersion: number;
  /** The command that made the event; a duplicate command is recognised by this id. */
  readonly commandId: string;
  /** Absent: the event belongs to no call, or comes from a version that did not record it. */
  readonly tool?: CalledTool;
  /** The span that the stream began in, as a W3C `traceparent`; absent: spans were not made. */
  readonly traceparent?: string;
  /** The sensitive values of the data, encrypted; absent when there are none. In their places stands a mark. */
  readonly sealed?: SealedValues;
  /** Of an event that was moved from another store: when that one recorded it. */
  readonly moved?: { readonly recordedAt: string };
  /**
   * JSON pointers of values whose key is destroyed; `[erased]` stands in their places. Never recorded: it comes from
   * reading.
   */
  readonly erased?: readonly string[];
  /** Like `erased`, of values whose key is lost; `[key missing]` stands in their places. */
  readonly missing?: readonly string[];
}

/** Encrypted values of one event, a stored format: docs/privacy.md. */
export interface SealedValues {
  /** The id of the subject's key. */
  readonly key: string;
  readonly pointers: readonly string[];
  /** AES-256-GCM, base64url: nonce, ciphertext, tag. */
  readonly box: string;
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
  /** Only an event that cannot be read has it. */
  readonly unreadable?: never;
}

/** The fold's input out of a recorded event. The stored pair (type, data) was validated when it was written. */
export function toToolCallEvent(event: Pick<RecordedEvent, 'type' | 'data'>): ToolCallEvent {
  return event as ToolCallEvent;
}
