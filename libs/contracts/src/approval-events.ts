import { z } from 'zod';
import { proofShape } from './credentials.js';
import { answerSignatureSchema } from './passkey-events.js';
import { jsonObjectSchema, jsonValueSchema } from './json.js';
import { assuranceSchema, digestSchema, timeSchema } from './primitives.js';
import { requirementSchema, verdictSchema } from './requirement.js';

/** People are asked whether the call may run: at its request, at its turn, or in another round. */
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
  // Of a later question alone: a request is its agent's.
  ...proofShape,
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
  ...proofShape,
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
     * The requirement of the rule that judges the edited arguments, in addition to that of the request; null: the rule
     * is the same, or it asks no person.
     */
    requirement: requirementSchema.nullable(),
    /** When that requirement ends by itself, and when its reminders are due; null without one. */
    clock: z
      .strictObject({ expiresAt: timeSchema.nullable(), remindAt: z.exactOptional(z.array(timeSchema)) })
      .nullable(),
    /** Only in events of version 1, whose edits without a requirement kept those of the proposal that they replaced. */
    keepsRequirements: z.exactOptional(z.literal(true)),
  }),
  z.strictObject({ type: z.literal('deny') }),
  z.strictObject({
    type: z.literal('answer'),
    output: jsonValueSchema,
    /** Of the digest of an output that hides values, sealed with them. Absent: that of the request. */
    salt: z.exactOptional(z.string().nullable()),
  }),
]);
export type RecordedDecision = z.infer<typeof recordedDecisionSchema>;

/** A person answered, or silence counts as an answer where the policy says so. */
export const approvalRespondedSchema = z.strictObject({
  approvalId: z.string(),
  decision: recordedDecisionSchema,
  /** The number of the proposal that the response is about; an edit and an answer may add it. Null: of version 1. */
  proposal: z.int().min(1).nullable(),
  /** The digest of the proposal that the person was shown; null: the channel did not say. */
  shown: digestSchema.nullable(),
  /** The action digest of that proposal. */
  actionDigest: digestSchema,
  reason: z.string().nullable(),
  instruction: z.string().nullable(),
  respondedBy: z.string(),
  /** What a front end calls the person. It is shown, and never compared. Absent: it does not say. */
  respondedByName: z.exactOptional(z.string()),
  /** The person on whose behalf a delegate responded. */
  onBehalfOf: z.string().nullable(),
  groups: z.array(z.string()),
  /**
   * Those of `groups` that only files gave, to a person of a sign-in provider or a front end: they count as long as the files give
   * them. Absent: none.
   */
  groupsOfFiles: z.exactOptional(z.array(z.string()).min(1)),
  via: z.string(),
  assurance: assuranceSchema,
  /** True only when the policy states explicitly that silence approves. */
  automatic: z.boolean(),
  respondedAt: timeSchema,
  resolution: z.enum(['pending', 'approved', 'denied']),
  /** When the right to run an approved call ends; null while pending, when denied, and for `never`. */
  executeBy: timeSchema.nullable(),
  /**
   * Earlier voters whose votes ended with this response: they may no longer respond, the credential that gave the vote is
   * gone, or they are the same person under another name. Absent: none.
   */
  endedVotes: z.exactOptional(z.array(z.string()).min(1)),
  /** This denial cancels the other open calls of the run; absent: it does not. */
  endsRun: z.exactOptional(z.literal(true)),
  /** The person's signature; absent: the response is not signed. */
  signature: z.exactOptional(answerSignatureSchema),
  ...proofShape,
});

/** A person took back their response while the approval was pending. */
export const responseWithdrawnSchema = z.strictObject({
  approvalId: z.string(),
  withdrawnBy: z.string(),
  /** The name under which the vote was cast, or in whose place, where it is another than `withdrawnBy`. */
  castBy: z.exactOptional(z.string()),
  /**
   * `proposal`: the vote had proposed what was asked, so the agent's request is asked about again. `unbacked-answer`: of
   * version 1, where an edit stayed without its author and an answer ended with its last vote.
   */
  ends: z.enum(['vote', 'proposal', 'unbacked-answer']),
  withdrawnAt: timeSchema,
  ...proofShape,
});

/** A person who may respond to an approval revealed its hidden values. Recorded before the values are sent. */
export const valuesRevealedSchema = z.strictObject({
  approvalId: z.string(),
  revealedBy: z.string(),
  /** JSON pointers of the values of the arguments that were shown. */
  pointers: z.array(z.string()),
  /** The same for the output of a proposed answer. Absent: no value of an answer was shown. */
  outputPointers: z.array(z.string()).exactOptional(),
  via: z.string(),
  revealedAt: timeSchema,
  ...proofShape,
});

/** Nobody decided in time: the call will not run. */
export const approvalExpiredSchema = z.strictObject({ approvalId: z.string(), expiredAt: timeSchema });

/** Nobody decided in time: other people are asked. */
export const approvalEscalatedSchema = z.strictObject({
  approvalId: z.string(),
  /** 1 for the first escalation. */
  level: z.int().min(1),
  /** The groups that are asked from now on. */
  to: z.array(z.string()),
  /** The requirement that escalates: its place in the requirements of the current proposal, from 0. */
  requirement: z.int().min(0),
  /** Null: the deadline is over and the approval is held open (`onTimeout: hold`). */
  expiresAt: timeSchema.nullable(),
  escalatedAt: timeSchema,
  /** Earlier voters whose votes ended with it: they may no longer respond. Absent: none. */
  endedVotes: z.exactOptional(z.array(z.string()).min(1)),
});

/** The people who were asked are reminded. */
export const approversRemindedSchema = z.strictObject({
  approvalId: z.string(),
  /** 1 for the first reminder. */
  nth: z.int().min(1),
  remindedAt: timeSchema,
});

/** The call was approved, and nobody ran it while it might run: the approval is used up. */
export const approvalLapsedSchema = z.strictObject({ approvalId: z.string(), lapsedAt: timeSchema });
