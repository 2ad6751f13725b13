import { z } from 'zod';
import { proofShape } from './credentials.js';
import { assuranceSchema, digestSchema, externalIdSchema, riskSchema, timeSchema } from './primitives.js';

/** The condition on the arguments of a covered call. */
const storedMatchSchema = z.union([
  /** Exactly these arguments: `grantDigest` of them, mixed with the salt. */
  z.strictObject({ digest: digestSchema, salt: z.string().nullable() }),
  /** A CEL expression over `args`, `call` and `now`, which must be true. */
  z.strictObject({ when: z.string() }),
  z.strictObject({ any: z.literal(true) }),
]);
export type GrantMatch = z.infer<typeof storedMatchSchema>;

/** The terms of a grant, and its creator. */
const grantTermsSchema = z
  .strictObject({
    grantId: z.string(),
    tenant: z.string(),
    toolName: externalIdSchema,
    match: storedMatchSchema,
    /** Null: every run. */
    runId: externalIdSchema.nullable(),
    /** Null: every agent. */
    agentId: externalIdSchema.nullable(),
    /**
     * The principal whose calls are covered. Absent: every principal that may speak for the agent.
     */
    requestedBy: z.string().exactOptional(),
    /** The labels that a covered call has, with these values. Absent: any. */
    labels: z.record(z.string(), z.string()).exactOptional(),
    /** Of a remembered approval: the digest of the schema that its call named; null: it named none. Absent: it was not recorded. */
    toolSchemaHash: digestSchema.nullable().exactOptional(),
    reason: z.string(),
    /** The highest risk of a rule that the grant may answer. */
    risk: riskSchema.nullable(),
    /** Null: the limit of all grants. */
    maxUses: z.int().min(1).nullable(),
    /** The approval that was remembered; null for a grant of its own. */
    approvalId: z.string().nullable(),
    /** Whose hidden values are in the digest of an exact match: the salt has this subject's key, otherwise one of its own. */
    subject: z.string().exactOptional(),
    createdBy: z.string(),
    /** The groups of the creator's sign-in. Those of the policy file are looked up at each use. */
    groups: z.array(z.string()),
    /** True if the policy file listed the creator: then it must do so at each use. */
    isListed: z.boolean(),
    via: z.string(),
    assurance: assuranceSchema,
    createdAt: timeSchema,
    expiresAt: timeSchema,
    ...proofShape,
  })
  .meta({ id: 'GrantTerms' });
export type GrantTerms = z.infer<typeof grantTermsSchema>;

/** A grant above the risk tier: a second person must confirm it before it covers a call. */
export const grantProposedSchema = grantTermsSchema;

/** A grant that covers calls from here on. */
export const grantCreatedSchema = grantTermsSchema;

/** A second person confirmed a grant: it covers calls from here on. */
export const grantConfirmedSchema = z.strictObject({
  grantId: z.string(),
  confirmedBy: z.string(),
  via: z.string(),
  confirmedAt: timeSchema,
  ...proofShape,
});

/** A call was covered. Recorded before the call, so that no two calls take the same use. */
export const grantUsedSchema = z.strictObject({
  grantId: z.string(),
  callId: z.string(),
  runId: z.string(),
  /** 1 for the first use. */
  nth: z.int().min(1),
  usedAt: timeSchema,
});

/** A grant ended before its time: it covers no call any more. */
export const grantRevokedSchema = z.strictObject({
  grantId: z.string(),
  revokedBy: z.string(),
  via: z.string(),
  reason: z.exactOptional(z.string()),
  revokedAt: timeSchema,
  ...proofShape,
});

/** The stored format of every event of the stream `grant-<grantId>`, by type. */
export const grantEventSchemas = {
  GrantProposed: grantProposedSchema,
  GrantCreated: grantCreatedSchema,
  GrantConfirmed: grantConfirmedSchema,
  GrantUsed: grantUsedSchema,
  GrantRevoked: grantRevokedSchema,
} as const;

/** The name of a grant's event. */
export type GrantEventType = keyof typeof grantEventSchemas;

export const grantEventTypes = Object.keys(grantEventSchemas) as GrantEventType[];

/** An event of one standing grant. */
export type GrantEvent = {
  [T in GrantEventType]: { readonly type: T; readonly data: z.infer<(typeof grantEventSchemas)[T]> };
}[GrantEventType];

/** The stream of a grant. */
export function grantStream(grantId: string): string {
  return `grant-${grantId}`;
}
