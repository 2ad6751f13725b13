import { z } from 'zod';
import { jsonObjectSchema } from './json.js';
import { timeSchema } from './primitives.js';
import { requirementSchema, verdictSchema } from './requirement.js';

export const policyViewSchema = z
  .strictObject({
    policyVersion: z.string(),
    content: jsonObjectSchema,
    /** Null for the built-in policy, which no file activated. */
    activatedAt: timeSchema.nullable(),
    activatedBy: z.string().nullable(),
  })
  .meta({ id: 'Policy', description: 'The policy in force, and since when.' });

/** The policy in force. */
export type PolicyView = z.infer<typeof policyViewSchema>;

export const policyVersionsSchema = z
  .strictObject({
    versions: z.array(
      z.strictObject({
        policyVersion: z.string(),
        activatedAt: timeSchema,
        activatedBy: z.string(),
        /** Only where one version was asked for. */
        content: jsonObjectSchema.optional(),
      }),
    ),
    /** True when the log has more than the answer. */
    more: z.boolean(),
  })
  .meta({ id: 'PolicyVersions', description: 'Every activation of a policy of the tenant, the latest first.' });

/** The activations of policies, the latest first. */
export type PolicyVersions = z.infer<typeof policyVersionsSchema>;

const judgedSchema = z
  .strictObject({ outcome: verdictSchema.shape.outcome, ruleId: z.string() })
  .meta({ id: 'Judged', description: 'The outcome of a policy for a call, and the rule.' });

/** One line of a back-test: a recorded call that the candidate judges differently. */
export const changedCallSchema = z.strictObject({
  callId: z.string(),
  runId: z.string(),
  agentId: z.string(),
  toolName: z.string(),
  requestedAt: timeSchema,
  before: judgedSchema,
  after: judgedSchema,
  /** The differences: the outcome, or who must agree. */
  differs: z.array(z.string()),
  why: z.array(z.string()),
});
export type ChangedCall = z.infer<typeof changedCallSchema>;

/** The positions of the first 1,000 events that cannot be read, so that the calls they are about are not counted. Absent: none. */
const leftOutSchema = z.array(z.int()).exactOptional();

/** The last line of a back-test. */
export const backtestSummarySchema = z.strictObject({
  calls: z.int(),
  changed: z.int(),
  policyVersion: z.string(),
  /** How many calls each rule of the candidate judged, and how many of them differently. A rule with none is listed too. */
  rules: z.array(z.strictObject({ ruleId: z.string(), calls: z.int(), changed: z.int() })),
  unreadable: leftOutSchema,
});
export type BacktestSummary = z.infer<typeof backtestSummarySchema>;

export const policySuggestionsSchema = z
  .strictObject({
    suggestions: z.array(
      z.strictObject({
        toolName: z.string(),
        agentId: z.string(),
        /** The proposed rule, and the same as an item of `rules` in a policy file. */
        rule: jsonObjectSchema,
        yaml: z.string(),
        evidence: z.strictObject({
          /** How many calls people approved as they were requested. */
          decisions: z.int(),
          people: z.int(),
          days: z.int(),
          since: timeSchema,
          until: timeSchema,
          medianToDecideMs: z.int(),
        }),
        /**
         * Counts of the latest calls that people were asked about, and of those that the policy in force would allow
         * with this rule in front.
         */
        backtest: z.strictObject({ asked: z.int(), allowed: z.int() }),
      }),
    ),
    since: timeSchema,
    decisionsMin: z.int(),
    /** How many calls were looked at; false: there were more, and only the latest counted. */
    calls: z.int(),
    complete: z.boolean(),
  })
  .meta({
    id: 'PolicySuggestions',
    description: 'Rules that would allow what people always approved unchanged. None is ever applied automatically.',
  });

/** Rules that would allow what people always approved unchanged. */
export type PolicySuggestions = z.infer<typeof policySuggestionsSchema>;

const ruleCountsSchema = backtestSummarySchema.shape.rules;

export const shadowReportSchema = z
  .strictObject({
    /** The latest candidate, and since when it judges; null when there has been none. */
    policyVersion: z.string().nullable(),
    since: timeSchema.nullable(),
    calls: z.int(),
    changed: z.int(),
    /** By the candidate's rules. */
    rules: ruleCountsSchema,
    /** The latest 200 calls that the candidate judged differently, the latest first. */
    changes: z.array(changedCallSchema),
    /** False: the log was too long, and its end is not counted. */
    complete: z.boolean(),
    unreadable: leftOutSchema,
  })
  .meta({
    id: 'ShadowReport',
    description: 'What the candidate policy of `COUNTERSIGN_POLICY_SHADOW` said of the requested calls.',
  });

/** The verdicts of the latest candidate policy since it began to judge. */
export type ShadowReport = z.infer<typeof shadowReportSchema>;

/** A quota of the policy in front of a call: what it counts now, and whether it would refuse the call. */
const quotaViewSchema = z
  .strictObject({
    quota: z.enum(['pendingPerAgent', 'coolDown', 'coalesceIdentical']),
    counts: z.enum(['agent', 'principal']).meta({ description: 'Whose calls it counts: those of `name`' }),
    name: z.string(),
    limit: z.int().meta({ description: 'The pending calls or denials that it allows' }),
    used: z.int().meta({ description: 'Counted up to the limit' }),
    windowMs: z
      .int()
      .nullable()
      .meta({ description: 'How long a cool-down lasts, and within which time denials count' }),
    coolDownUntil: z.string().nullable(),
    identical: z.strictObject({ callId: z.string(), toolCallId: z.string(), approvalId: z.string() }).nullable(),
    refusal: z.strictObject({ code: z.string(), detail: z.string() }).nullable(),
  })
  .meta({ id: 'QuotaState' });
export type QuotaView = z.infer<typeof quotaViewSchema>;

export const explanationViewSchema = z
  .strictObject({
    verdict: verdictSchema,
    /** The requirement of the approval; null when none would be requested. */
    requirement: requirementSchema.nullable(),
    rules: z.array(
      z.strictObject({
        ruleId: z.string(),
        /** True if the rule decides when no earlier one does. */
        matched: z.boolean(),
        /** True when the rule's expression has no answer: a `require` then counts as matched. */
        failed: z.boolean(),
        why: z.string(),
      }),
    ),
    quotas: z.array(quotaViewSchema).nullable().meta({
      description: 'Each quota that counts the call; empty when people are not asked; null when no server was asked',
    }),
    countedFor: z.strictObject({ requestedBy: z.string(), isAssumed: z.boolean() }).exactOptional().meta({
      description:
        'The principal whose calls the quotas count. `isAssumed`: the call names none, so it is one with the name of the agent. Absent where no quota counts the call',
    }),
  })
  .meta({ id: 'PolicyExplanation', description: 'The verdict on a call, and what each rule says of it.' });

/** The verdict on a call that was not recorded, and what each rule says of it. */
export type ExplanationView = z.infer<typeof explanationViewSchema>;
