import { decisionTypes, globProblem, jcsDigest, parseDurationMs } from '@countersign/contracts';
import type { DurationMs, JsonObject } from '@countersign/contracts';
import { z } from 'zod';

const durationOrNeverSchema = z.string().transform((text, context): DurationMs => {
  const durationMs = text === 'never' ? text : parseDurationMs(text);
  if (durationMs !== undefined) return durationMs;
  context.addIssue({ code: 'custom', message: `"${text}" is not a duration: write 30s, 10m, 2h, 3d or never` });
  return z.NEVER;
});

const globSchema = z.string().superRefine((glob, context) => {
  const problem = globProblem(glob);
  if (problem !== undefined) context.addIssue({ code: 'custom', message: `the glob "${glob}" ${problem}` });
});

const laterKeys = ['approvers', 'quotas', 'rules'] as const;

const notYet = z
  .unknown()
  .optional()
  .superRefine((value, context) => {
    if (value !== undefined)
      context.addIssue({ code: 'custom', message: 'is not supported by this version of Countersign' });
  });

/** The policy file, version 1: the keys that this version understands. */
export const policyFileSchema = z
  .strictObject({
    version: z.literal(1),
    tenant: z.string().min(1).max(256).default('default'),
    default: z.enum(['require', 'allow']).optional(),
    autoApprovedTools: z.array(globSchema).optional(),
    requireApprovalTools: z.array(globSchema).optional(),
    defaults: z
      .strictObject({
        expiresIn: durationOrNeverSchema.optional(),
        executeBy: durationOrNeverSchema.optional(),
        onTimeout: z.enum(['deny', 'hold']).optional(),
        fourEyes: z.boolean().optional(),
        allowedDecisions: z.array(z.enum(decisionTypes)).min(1).optional(),
      })
      .optional(),
    ...(Object.fromEntries(laterKeys.map((key) => [key, notYet])) as Record<(typeof laterKeys)[number], typeof notYet>),
  })
  .superRefine((file, context) => {
    if (file.autoApprovedTools !== undefined && file.default === 'allow') {
      context.addIssue({
        code: 'custom',
        path: ['default'],
        message: 'must not be "allow" beside autoApprovedTools: an allow-list requires approval for everything else',
      });
    }
  });

/** The content of a policy file, with defaults filled in. */
export interface PolicyContent {
  readonly tenant: string;
  readonly default: 'require' | 'allow';
  readonly autoApprovedTools: readonly string[];
  readonly requireApprovalTools: readonly string[];
  readonly defaults: {
    readonly expiresInMs: DurationMs;
    /** True when the file sets the expiry. A request can then only shorten it. */
    readonly isExpirySet: boolean;
    readonly executeByMs: DurationMs;
    readonly onTimeout: 'deny' | 'hold';
    readonly fourEyes: boolean;
    readonly allowedDecisions: readonly (typeof decisionTypes)[number][];
  };
  /** The original text, for the record. */
  readonly source: JsonObject;
  /** `sha256:` over the RFC 8785 form of `source`: formatting and comments do not change it, meaning does. */
  readonly version: string;
}

const hourMs = 3_600_000;

/** The content of a validated policy file. */
export function toPolicyContent(file: z.output<typeof policyFileSchema>, source: JsonObject): PolicyContent {
  const { autoApprovedTools, requireApprovalTools = [] } = file;
  return {
    tenant: file.tenant,
    default: file.default ?? (autoApprovedTools === undefined ? 'allow' : 'require'),
    autoApprovedTools: autoApprovedTools ?? [],
    requireApprovalTools,
    defaults: toDefaults(file.defaults ?? {}),
    source,
    version: jcsDigest(source),
  };
}

function toDefaults(written: NonNullable<z.output<typeof policyFileSchema>['defaults']>): PolicyContent['defaults'] {
  const { expiresIn = hourMs, executeBy = hourMs, onTimeout = 'deny', fourEyes = true } = written;
  const isExpirySet = written.expiresIn !== undefined;
  const allowedDecisions = written.allowedDecisions ?? decisionTypes;
  return { expiresInMs: expiresIn, isExpirySet, executeByMs: executeBy, onTimeout, fourEyes, allowedDecisions };
}

/**
 * The policy of a tenant without a file: calls that the worker flags need one approver; all others are allowed and
 * recorded.
 */
export function builtInPolicyContent(tenant: string): PolicyContent {
  const source = { version: 1, tenant, default: 'allow' } as const;
  return toPolicyContent(policyFileSchema.parse(source), source);
}
