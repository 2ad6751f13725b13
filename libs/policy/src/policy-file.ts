import { decisionTypes, jcsDigest } from '@countersign/contracts';
import type { JsonObject } from '@countersign/contracts';
import type { CelExpression } from '@countersign/cel';
import { z } from 'zod';
import { approversSchema } from './approvers.js';
import type { Approver } from './approvers.js';
import { autoApprovedSchema } from './auto-approved.js';
import type { AutoApproved } from './auto-approved.js';
import { durationOrNeverSchema, globSchema, hoursSchema } from './field-schemas.js';
import { toRule } from './rule.js';
import type { Defaults, Rule } from './rule.js';
import { rulesSchema } from './rule-schema.js';
import { quotasSchema, toQuotas } from './quotas.js';
import type { Quotas } from './quotas.js';

/** The other modes bind the calls of a step to the rule that says so: without a rule they would have no name. */
function batchWords({ input }: z.core.$ZodRawIssue): string | undefined {
  if (input !== 'any-asks-all' && input !== 'all-or-nothing') return undefined;
  const remedy = `Write "batch: ${input}" into the "require" of each rule that asks about the whole step`;
  return `must be "independent" or "sequential". ${remedy}`;
}

/** The policy file, version 1: the keys that this version understands. */
export const policyFileSchema = z
  .strictObject({
    version: z.literal(1),
    tenant: z.string().min(1).max(256).default('default'),
    default: z.enum(['require', 'allow']).optional(),
    autoApprovedTools: z.array(autoApprovedSchema).optional(),
    requireApprovalTools: z.array(globSchema).optional(),
    defaults: z
      .strictObject({
        expiresIn: durationOrNeverSchema.optional(),
        executeBy: durationOrNeverSchema.optional(),
        onTimeout: z.enum(['deny', 'hold']).optional(),
        fourEyes: z.boolean().optional(),
        allowedDecisions: z.array(z.enum(decisionTypes)).min(1).optional(),
        businessHours: hoursSchema.optional(),
        batch: z.enum(['independent', 'sequential'], { error: batchWords }).optional(),
      })
      .optional(),
    rules: rulesSchema.optional(),
    approvers: approversSchema.optional(),
    quotas: quotasSchema.optional(),
    passkeys: z.strictObject({ secondPerson: z.boolean() }).optional(),
  })
  .superRefine((file, context) => {
    if (file.autoApprovedTools !== undefined && file.default === 'allow') {
      context.addIssue({
        code: 'custom',
        path: ['default'],
        message:
          'must not be "allow" together with autoApprovedTools: an allow-list requires approval for everything else',
      });
    }
  });

/** The content of a policy file, with defaults filled in. */
export interface PolicyContent {
  readonly tenant: string;
  readonly default: 'require' | 'allow';
  readonly autoApprovedTools: readonly AutoApproved[];
  readonly requireApprovalTools: readonly string[];
  readonly defaults: Defaults;
  readonly rules: readonly Rule[];
  /** True if an expression may look at `run`. */
  readonly usesRun: boolean;
  /** Null: no limit. */
  readonly quotas: Quotas | null;
  readonly approvers: readonly Approver[];
  /** True if a second person confirms each passkey. */
  readonly confirmsPasskeys: boolean;
  /** The version of the evaluator of expressions; null when no rule has one. */
  readonly celVersion: string | null;
  /** The original text, for the record. */
  readonly source: JsonObject;
  /** `sha256:` over the RFC 8785 form of `source`: formatting and comments do not change it, meaning does. */
  readonly version: string;
}

const hourMs = 3_600_000;

/** The expressions of a policy file by their source, and what evaluates them. */
export interface CompiledExpressions {
  readonly celVersion: string | null;
  readonly compiled: ReadonlyMap<string, CelExpression>;
}

const noExpressions: CompiledExpressions = { celVersion: null, compiled: new Map() };

/** The content of a validated policy file. */
export function toPolicyContent(
  file: z.output<typeof policyFileSchema>,
  source: JsonObject,
  { celVersion, compiled }: CompiledExpressions = noExpressions,
): PolicyContent {
  const { autoApprovedTools, requireApprovalTools = [], rules = [], approvers = [] } = file;
  const defaults = toDefaults(file.defaults ?? {});
  return {
    tenant: file.tenant,
    default: file.default ?? (autoApprovedTools === undefined ? 'allow' : 'require'),
    autoApprovedTools: autoApprovedTools ?? [],
    requireApprovalTools,
    defaults,
    rules: rules.map((rule) =>
      toRule(rule, rule.when === undefined ? null : compiledOf(compiled, rule.when), defaults),
    ),
    approvers,
    confirmsPasskeys: confirmsPasskeys(file),
    quotas: toQuotas(file.quotas),
    usesRun: rules.some(({ when = '' }) => /\brun\b/.test(when)),
    celVersion: compiled.size === 0 ? null : celVersion,
    source,
    version: jcsDigest(source),
  };
}

function confirmsPasskeys({ passkeys }: z.output<typeof policyFileSchema>): boolean {
  return passkeys?.secondPerson === true;
}

/** An expression that was not compiled has no answer: without it the rule would match every call. */
function compiledOf(compiled: CompiledExpressions['compiled'], source: string): CelExpression {
  const problem = 'it was not compiled';
  return compiled.get(source) ?? (() => ({ problem, detail: problem, cost: 0 }));
}

function toDefaults(written: NonNullable<z.output<typeof policyFileSchema>['defaults']>): Defaults {
  const { expiresIn = hourMs, executeBy = hourMs, onTimeout = 'deny', fourEyes = true } = written;
  const isExpirySet = written.expiresIn !== undefined;
  const allowedDecisions = written.allowedDecisions ?? decisionTypes;
  const { businessHours = null, batch = 'independent' } = written;
  const times = { expiresInMs: expiresIn, isExpirySet, executeByMs: executeBy, onTimeout, businessHours };
  return { ...times, fourEyes, allowedDecisions, batch };
}

/**
 * The policy of a tenant without a file: calls that the worker flags need one approver; all others are allowed and
 * recorded.
 */
export function builtInPolicyContent(tenant: string): PolicyContent {
  const source = { version: 1, tenant, default: 'allow' } as const;
  return toPolicyContent(policyFileSchema.parse(source), source);
}
