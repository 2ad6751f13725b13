import { z } from 'zod';
import { labelsSchema } from './labels.js';
import {
  booleanTextSchema,
  digestSchema,
  externalIdSchema,
  riskSchema,
  shownTextSchema,
  textSchema,
  timeSchema,
} from './primitives.js';

/** Limits of standing grants. */
export const grantLimits = {
  /** The longest time, 90 days. */
  msMax: 90 * 24 * 60 * 60 * 1000,
  /** The uses of a grant that names no number. */
  usesMax: 10_000,
  /** The grants of a tenant that are active or pending. */
  liveMax: 1000,
  /** Those of one tool: each may have to be compared with a call of it. */
  liveOfToolMax: 200,
  /** The characters of an expression. */
  expressionMax: 4096,
} as const;

const expiresInMsSchema = z
  .int()
  .min(1)
  .max(grantLimits.msMax, 'must be at most 90 days')
  .meta({ description: 'How long the grant holds, at most 90 days' });
const maxUsesSchema = z
  .int()
  .min(1)
  .max(grantLimits.usesMax)
  .meta({ description: 'How many calls it covers at most. Default: 10,000' });

const anyArgumentsSchema = z
  .strictObject({ any: z.literal(true) })
  .meta({ id: 'AnyArguments', description: 'Any arguments.' });

/** The condition on the arguments of a covered call. */
const grantMatchSchema = z.union(
  [
    z.strictObject({ digest: digestSchema }).meta({
      description: 'Exactly these arguments: SHA-256 over the RFC 8785 (JCS) form of `{ arguments, toolName }`',
    }),
    z.strictObject({ when: z.string().min(1).max(grantLimits.expressionMax) }).meta({
      description: 'A CEL expression over `args`, `call` and `now`. It covers no call of which it reads a hidden value',
    }),
    anyArgumentsSchema,
  ],
  { error: 'must be one of { "digest": "sha256:…" }, { "when": "CEL" } and { "any": true }' },
);

/** `POST /v1/grants`. */
export const createGrantSchema = z
  .strictObject({
    toolName: externalIdSchema,
    match: grantMatchSchema,
    runId: externalIdSchema.optional(),
    agentId: externalIdSchema.optional(),
    requestedBy: externalIdSchema.optional().meta({
      description:
        'The principal whose calls are covered. Without it, the calls of every principal that may speak for the agent are',
    }),
    labels: labelsSchema
      .optional()
      .meta({ description: 'The labels that a covered call has, with these values. Without it, any' }),
    expiresInMs: expiresInMsSchema,
    maxUses: maxUsesSchema.optional(),
    reason: shownTextSchema,
  })
  .meta({ id: 'CreateGrant' });
export type CreateGrantBody = z.infer<typeof createGrantSchema>;

export const createGrantQuerySchema = z.strictObject({ dryRun: booleanTextSchema.optional() });

/** The part of a response that turns it into a grant. The grant is for calls in the same folder, or of the same MCP server. */
export const rememberSchema = z
  .strictObject({
    match: z.enum(['exact', 'tool']).meta({ description: 'Calls with exactly these arguments, or all of the tool' }),
    scope: z
      .enum(['run', 'agent'])
      .meta({ description: 'Calls of this agent and principal in this run, or in every run' }),
    expiresInMs: expiresInMsSchema,
    maxUses: maxUsesSchema.optional(),
  })
  .meta({ id: 'Remember' });
export type Remember = z.infer<typeof rememberSchema>;

export const grantStates = ['active', 'expired', 'exhausted', 'revoked', 'pending'] as const;
/** The state of a grant. `pending`: it waits for a second person. */
export type GrantViewState = (typeof grantStates)[number];
export const grantStateSchema = z.enum(grantStates).meta({ id: 'GrantState' });

export const grantViewSchema = z
  .strictObject({
    grantId: z.string(),
    toolName: z.string(),
    match: z.union([
      z
        .strictObject({ digest: z.string() })
        .meta({ description: 'Salted, so that hidden arguments cannot be guessed from it' }),
      z.strictObject({ when: z.string() }),
      anyArgumentsSchema,
    ]),
    runId: z.string().nullable(),
    agentId: z.string().nullable(),
    requestedBy: z
      .string()
      .nullable()
      .meta({ description: 'The principal whose calls it covers; null: it names none' }),
    labels: z.record(z.string(), z.string()).nullable().meta({
      description:
        'The labels that a covered call has, with these values; null: any. A remembered approval has those that say to what the arguments are relative: `cwd`, `mcpServer`, `mcpEndpoint`, `mcpDefinition`',
    }),
    reason: z.string(),
    risk: riskSchema.nullable().meta({ description: 'It covers no call whose rule has a higher risk' }),
    approvalId: z.string().nullable().meta({ description: 'The approval that was remembered' }),
    createdBy: z.string(),
    createdAt: timeSchema,
    confirmedBy: z.string().nullable(),
    confirmedAt: timeSchema.nullable(),
    expiresAt: timeSchema,
    maxUses: z.int().nullable(),
    uses: z.int(),
    lastUsedAt: timeSchema.nullable(),
    lastCallIds: z
      .array(z.string())
      .meta({ description: 'The calls of the latest uses, the newest first, at most 20' }),
    state: grantStateSchema,
    revokedBy: z.string().nullable(),
    revokedAt: timeSchema.nullable(),
    revokeReason: z.string().nullable(),
  })
  .meta({ id: 'Grant', description: 'A standing permission for calls of one tool.' });

/** A standing permission, as returned over HTTP. */
export type GrantView = z.infer<typeof grantViewSchema>;

/** `DELETE /v1/grants/{grantId}`. */
export const revokeGrantSchema = z.strictObject({ reason: textSchema.optional() }).meta({ id: 'RevokeGrant' });

/** Why a grant is revoked. */
export type RevokeGrantBody = z.infer<typeof revokeGrantSchema>;

export const grantPreviewSchema = z
  .strictObject({
    state: z.enum(['active', 'pending']).meta({ description: 'The state that the grant would begin in' }),
    risk: riskSchema.nullable(),
    scanned: z.int().meta({ description: 'How many recorded approvals of the tool were compared, the newest ones' }),
    covered: z.int(),
    notCompared: z.int().meta({ description: 'Approvals with hidden values, which no digest is compared with' }),
    byOutcome: z
      .record(z.string(), z.int())
      .meta({ description: 'How the approvals ended that it would have covered' }),
    calls: z
      .array(
        z.strictObject({
          callId: z.string(),
          approvalId: z.string(),
          runId: z.string(),
          agentId: z.string(),
          requestedAt: timeSchema,
          outcome: z.string(),
        }),
      )
      .meta({ description: 'The newest ones, at most 100' }),
  })
  .meta({ id: 'GrantPreview', description: 'The recorded calls that a grant would have covered.' });

/** The recorded calls that a grant would have covered. */
export type GrantPreview = z.infer<typeof grantPreviewSchema>;
