import { z } from 'zod';
import { assuranceSchema, decisionTypeSchema, durationMsSchema, riskSchema } from './primitives.js';

/**
 * One stage of a requirement. `quorum`: `approve` distinct people of `groups` (of all approvers when null) agree,
 * `deny` of them refuse. `all-of`: one person of each group agrees; `deny` people refuse.
 */
const stageSchema = z.strictObject({
  mode: z.enum(['quorum', 'all-of']),
  approve: z.int().min(1),
  deny: z.int().min(1),
  groups: z.array(z.string()).nullable(),
});
export type Stage = z.infer<typeof stageSchema>;

/**
 * The policy's `require`, normalised: the people who must agree, their number, the deadline, and the effect of a
 * timeout.
 */
export const requirementSchema = z.strictObject({
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
});
export type Requirement = z.infer<typeof requirementSchema>;

/** The policy's verdict on one call, recorded with it. Every automatic decision cites its rule. */
export const verdictSchema = z.strictObject({
  outcome: z.enum(['allow', 'require', 'block']),
  ruleId: z.string(),
  /** `sha256:` content hash of the policy that judged. */
  policyVersion: z.string(),
  automatic: z.boolean(),
  why: z.array(z.string()),
  grantId: z.exactOptional(z.string()),
});
export type Verdict = z.infer<typeof verdictSchema>;
