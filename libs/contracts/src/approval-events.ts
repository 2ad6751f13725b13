import { z } from 'zod';
import { jsonObjectSchema, jsonValueSchema } from './json.js';
import { assuranceSchema, digestSchema, timeSchema } from './primitives.js';
import { requirementSchema, verdictSchema } from './requirement.js';

export const approvalRequestedSchema = z.strictObject({
  approvalId: z.string(),
  round: z.int().min(1),
  actionDigest: digestSchema,
  verdict: verdictSchema,
  requirement: requirementSchema,
  reason: z.string().nullable(),
  description: z.string().nullable(),
  requestedBy: z.string(),
  requestedAt: timeSchema,
  expiresAt: timeSchema.nullable(),
  /** When the reminders are due, where they count in business hours only; absent: `remindersMs` after the request. */
  remindAt: z.exactOptional(z.array(timeSchema)),
});

/**
 * Reason or description that the request lacked, added while the approval is pending. It never replaces a recorded one.
 */
export const approvalDescribedSchema = z.strictObject({
  approvalId: z.string(),
  /** Null: nothing is added. */
  reason: z.string().nullable(),
  description: z.string().nullable(),
  describedBy: z.string(),
  describedAt: timeSchema,
});

/** One person's recorded decision. An edit carries the full new arguments and their digest. */
const recordedDecisionSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('approve') }),
  z.strictObject({
    type: z.literal('edit'),
    arguments: jsonObjectSchema,
    sensitive: z.array(z.string()),
    salt: z.string().nullable(),
    verdict: verdictSchema,
    /**
     * Applies from this edit on, when the edited arguments require more approvals; null: the requirement is unchanged.
     */
    requirement: requirementSchema.nullable(),
  }),
  z.strictObject({ type: z.literal('deny') }),
  z.strictObject({ type: z.literal('answer'), output: jsonValueSchema }),
]);
export type RecordedDecision = z.infer<typeof recordedDecisionSchema>;

export const approvalRespondedSchema = z.strictObject({
  approvalId: z.string(),
  decision: recordedDecisionSchema,
  /** The digest of this response; after an edit, that of the edited arguments. */
  actionDigest: digestSchema,
  reason: z.string().nullable(),
  instruction: z.string().nullable(),
  respondedBy: z.string(),
  /** The person on whose behalf a delegate responded. */
  onBehalfOf: z.string().nullable(),
  groups: z.array(z.string()),
  via: z.string(),
  assurance: assuranceSchema,
  /** True only when the policy states explicitly that silence approves. */
  automatic: z.boolean(),
  respondedAt: timeSchema,
  resolution: z.enum(['pending', 'approved', 'denied']),
  /** When the right to run an approved call ends; null while pending, when denied, and for `never`. */
  executeBy: timeSchema.nullable(),
  /** This denial cancels the other open calls of the run; absent: it does not. */
  endsRun: z.exactOptional(z.literal(true)),
});

export const responseWithdrawnSchema = z.strictObject({
  approvalId: z.string(),
  withdrawnBy: z.string(),
  withdrawnAt: timeSchema,
});

/** A person who may respond to an approval revealed its hidden values. Recorded before the values are sent. */
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
