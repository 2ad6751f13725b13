import { z } from 'zod';
import { assuranceSchema, decisionTypeSchema, durationMsSchema, riskSchema } from './primitives.js';

/**
 * One stage of a requirement. `quorum`: `approve` distinct people of `groups` (of all approvers when null) agree,
 * `deny` of them refuse. `all-of`: one person of each group agrees; `deny` people refuse.
 */
const stageSchema = z
  .strictObject({
    mode: z.enum(['quorum', 'all-of']),
    approve: z.int().min(1),
    deny: z.int().min(1),
    groups: z.array(z.string()).nullable(),
  })
  .meta({
    id: 'RequirementStage',
    description: 'One stage of a requirement: how many people of which groups agree or refuse.',
  });
export type Stage = z.infer<typeof stageSchema>;

export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

const timeOfDaySchema = z.string().regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, 'must be a time of day such as "08:00"');

/**
 * The hours in which a deadline counts, by the clock of a time zone. A day whose `to` is before its `from` ends on the
 * next day.
 */
export const businessHoursSchema = z
  .strictObject({
    /** An IANA name such as `Europe/Paris`. */
    zone: z.string().min(1).max(64),
    days: z.array(z.enum(weekdays)).min(1).max(weekdays.length),
    from: timeOfDaySchema,
    to: z
      .string()
      .regex(/^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$/, 'must be a time of day such as "18:00", or "24:00"'),
  })
  .meta({ id: 'BusinessHours', description: 'The hours in which a deadline counts.' });
export type BusinessHours = z.infer<typeof businessHoursSchema>;

/**
 * What a rule makes of the calls of a model step, the laxer one first. `sequential`: they take their turn one after another
 * in their run; `any-asks-all`: the calls that would be allowed wait for people as well.
 */
export const ruledBatches = ['sequential', 'all-or-nothing', 'any-asks-all'] as const;

/**
 * The policy's `require`, normalised: the people who must agree, their number, the deadline, and the effect of a
 * timeout.
 */
export const requirementSchema = z
  .strictObject({
    stages: z.array(stageSchema).min(1),
    fourEyes: z.boolean(),
    allowedDecisions: z.array(decisionTypeSchema).min(1),
    requireReason: z.array(decisionTypeSchema),
    minAssurance: assuranceSchema.nullable(),
    risk: riskSchema.nullable(),
    expiresInMs: durationMsSchema,
    executeByMs: durationMsSchema,
    onTimeout: z.enum(['deny', 'escalate', 'hold', 'allow']),
    escalation: z.array(z.strictObject({ to: z.array(z.string()).min(1), expiresInMs: z.int().min(1) })),
    remindersMs: z.array(z.int().min(1)),
    /** `expiresInMs`, `remindersMs` and the times of `escalation` count in these hours only; absent: at any time. */
    businessHours: z.exactOptional(businessHoursSchema),
    /**
     * The calls of the same model step run together or not at all; `any-asks-all`: people are asked about each of them
     * as well; `sequential`: they take their turn one after another. Absent: the agent's `batchMode` decides.
     */
    batch: z.exactOptional(z.enum(ruledBatches)),
    /** A denial cancels the other open calls of the run; absent: it does not. */
    denyEndsRun: z.exactOptional(z.literal(true)),
    /** A call or an edit whose schema is not checked whole is refused; absent: it is not. */
    requireCheckedSchema: z.exactOptional(z.literal(true)),
    /** Only a response that its person signed with a passkey counts; absent: `minAssurance` says so, or it does not. */
    requireSignature: z.exactOptional(z.literal(true)),
  })
  .meta({
    id: 'Requirement',
    description: 'The people who must agree, their number, the deadline, and the effect of a timeout.',
  });
export type Requirement = z.infer<typeof requirementSchema>;

/** The policy's verdict on one call, recorded with it. Every automatic decision cites its rule. */
export const verdictSchema = z
  .strictObject({
    outcome: z.enum(['allow', 'require', 'block']).meta({ id: 'VerdictOutcome' }),
    ruleId: z.string(),
    /** `sha256:` content hash of the policy that judged. */
    policyVersion: z.string(),
    automatic: z.boolean(),
    why: z.array(z.string()),
    grantId: z.exactOptional(z.string()),
  })
  .meta({ id: 'Verdict', description: "The policy's verdict on one call." });
export type Verdict = z.infer<typeof verdictSchema>;

/** The rule id of a verdict that the agent's own code gave: it denied the call in its request. */
export const deniedInCode = 'deniedInCode';
export type DeniedInCode = typeof deniedInCode;
