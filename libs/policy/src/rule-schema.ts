import {
  assuranceSchema,
  decisionTypeSchema,
  deniedInCode,
  groupSchema,
  isBlank,
  plainWords,
  riskSchema,
  ruledBatches,
} from '@countersign/contracts';
import { z } from 'zod';
import { durationOrNeverSchema, durationSchema, globSchema, hoursSchema, uniqueIds } from './field-schemas.js';

/** The ids of verdicts that no rule gave. */
const reservedIds = ['default', 'needsApproval', deniedInCode, 'requireApprovalTools', 'autoApprovedTools'];
/** Reading an expression takes up to 1 ms. */
const rulesMax = 2000;
const stagesMax = 10;
const levelsMax = 5;
const remindersMax = 10;

const groupsSchema = z.array(groupSchema).min(1).max(50);

const quorumSchema = z.strictObject({
  approve: z.int().min(1).max(50),
  deny: z.int().min(1).max(50).default(1),
  of: groupsSchema.optional(),
});

const stageKeys = { quorum: quorumSchema.optional(), anyOf: groupsSchema.optional(), allOf: groupsSchema.optional() };

type WrittenStage = z.output<z.ZodObject<typeof stageKeys>>;

function formsOf({ quorum, anyOf, allOf }: WrittenStage): number {
  return [quorum, anyOf, allOf].filter((form) => form !== undefined).length;
}

const stageSchema = z
  .strictObject(stageKeys)
  .refine((stage) => formsOf(stage) === 1, 'needs one of quorum, anyOf and allOf');

const timingKeys = {
  ...stageKeys,
  stages: z.array(stageSchema).min(1).max(stagesMax).optional(),
  onTimeout: z.enum(['deny', 'escalate', 'hold', 'allow']).optional(),
  allowOnTimeout: z.literal('i-understand').optional(),
  escalation: z
    .array(z.strictObject({ to: groupsSchema, expiresIn: durationSchema }))
    .min(1)
    .max(levelsMax)
    .optional(),
  risk: riskSchema.optional(),
  minAssurance: assuranceSchema.optional(),
  requireSignature: z.boolean().optional(),
};

type Timing = z.output<z.ZodObject<typeof timingKeys>>;

const requireSchema = z
  .strictObject({
    ...timingKeys,
    expiresIn: durationOrNeverSchema.optional(),
    reminders: z.array(durationSchema).max(remindersMax).optional(),
    executeBy: durationOrNeverSchema.optional(),
    fourEyes: z.boolean().optional(),
    requireReason: z.array(decisionTypeSchema).optional(),
    allowedDecisions: z.array(decisionTypeSchema).min(1).optional(),
    businessHours: hoursSchema.optional(),
    batch: z.enum(['independent', ...ruledBatches]).optional(),
    denyEndsRun: z.boolean().optional(),
    requireCheckedSchema: z.boolean().optional(),
  })
  .superRefine((written, context) => {
    for (const [key, message, has] of requireRules) {
      if (has(written)) context.addIssue({ code: 'custom', path: [key], message });
    }
  });

/** A rule's `require` as written. */
export type WrittenRequire = z.output<typeof requireSchema>;

/** Rules between the keys of a `require`: the key to report, the problem, and the check for it. */
const requireRules: readonly (readonly [key: string, problem: string, has: (written: Timing) => boolean])[] = [
  ['stages', 'allows one of stages, quorum, anyOf and allOf', (one) => formsOf(one) + (one.stages ? 1 : 0) > 1],
  [
    'onTimeout',
    'needs "escalation": who is asked next',
    (one) => one.onTimeout === 'escalate' && one.escalation === undefined,
  ],
  [
    'escalation',
    'is used only with "onTimeout: escalate"',
    (one) => one.onTimeout !== 'escalate' && one.escalation !== undefined,
  ],
  [
    'onTimeout',
    'needs "allowOnTimeout: i-understand": silence then approves',
    (one) => one.onTimeout === 'allow' && one.allowOnTimeout === undefined,
  ],
  [
    'onTimeout',
    'must not be "allow" where the risk is high',
    (one) => one.onTimeout === 'allow' && one.risk === 'high',
  ],
  [
    'onTimeout',
    'must not be "allow" where people sign: silence has no signature',
    (one) => one.onTimeout === 'allow' && (one.requireSignature === true || one.minAssurance === 'high'),
  ],
  [
    'requireSignature',
    'must not be false with "minAssurance: high", which is a signature',
    (one) => one.requireSignature === false && one.minAssurance === 'high',
  ],
  [
    'allowOnTimeout',
    'is used only with "onTimeout: allow"',
    (one) => one.onTimeout !== 'allow' && one.allowOnTimeout !== undefined,
  ],
];

const reasonSchema = z
  .string()
  .trim()
  .max(1000)
  .refine((reason) => !isBlank(reason), 'must not be blank: the agent and the people read it');

export const otherThanAllowSchema = z
  .strictObject({ block: reasonSchema.optional(), require: requireSchema.optional() })
  .refine(({ block, require }) => (block === undefined) !== (require === undefined), 'needs one of block and require');

type Then = 'allow' | z.output<typeof otherThanAllowSchema>;

/** Not a union: a mistake in a `require` is reported at its own place. */
const thenSchema = z.unknown().transform((written, context): Then => {
  if (written === 'allow') return written;
  if (typeof written === 'string') {
    const message = 'must be "allow", { block: "the reason" } or { require: … }';
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  }
  const result = otherThanAllowSchema.safeParse(written, { error: plainWords });
  if (result.success) return result.data;
  for (const issue of result.error.issues) context.issues.push({ ...issue, input: written } as never);
  return z.NEVER;
});

/** The calls that a rule matches. */
export const matchSchema = z.strictObject({
  tools: z.array(globSchema).min(1).optional(),
  agents: z.array(globSchema).min(1).optional(),
  labels: z.record(z.string().min(1), globSchema).optional(),
});

const ruleSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, 'must be 1 to 128 letters, digits, ".", "_" or "-"')
    .refine((id) => !reservedIds.includes(id), 'is the id of a verdict that no rule gives: choose another'),
  match: matchSchema.default({}),
  when: z.string().optional(),
  then: thenSchema,
});

/** A rule as written. */
export type WrittenRule = z.output<typeof ruleSchema>;

export const rulesSchema = z
  .array(ruleSchema)
  .max(rulesMax)
  .superRefine(uniqueIds((id) => `"${id}" is the id of an earlier rule`));
