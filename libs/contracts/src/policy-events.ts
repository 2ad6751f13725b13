import { z } from 'zod';
import { jsonObjectSchema } from './json.js';
import { digestSchema, timeSchema } from './primitives.js';
import { verdictSchema } from './requirement.js';

/** A policy by its content: the one in force, or a candidate. */
export const policyActivatedSchema = z
  .strictObject({
    policyVersion: digestSchema,
    content: jsonObjectSchema,
    activatedBy: z.string(),
    activatedAt: timeSchema,
  })
  .meta({ id: 'ActivatedPolicy' });

/** Events of a tenant's policy stream, `policy-<tenant>`, and of its candidates' stream, `shadow-policy-<tenant>`. */
export interface PolicyEvent {
  readonly type: 'PolicyActivated' | 'ShadowPolicyActivated';
  readonly data: z.infer<typeof policyActivatedSchema>;
}

/** The stream of the policies that were in force for a tenant. */
export function policyStream(tenant: string): string {
  return `${policyPrefix}${tenant}`;
}

/** The stream of a tenant's candidate policies. */
export function shadowPolicyStream(tenant: string): string {
  return `${shadowPrefix}${tenant}`;
}

const policyPrefix = 'policy-';
const shadowPrefix = 'shadow-policy-';

/** The tenant whose policy stream this is; undefined for every other stream. */
export function tenantOfPolicyStream(stream: string): string | undefined {
  return stream.startsWith(policyPrefix) ? stream.slice(policyPrefix.length) : undefined;
}

/** Returns whether the last event of a stream replaces all before it, so that one that can be read ends what came before. */
export function lastReplacesAll(stream: string): boolean {
  return stream.startsWith(policyPrefix) || stream.startsWith(shadowPrefix);
}

const { outcome, ruleId } = verdictSchema.shape;

/** The candidate's verdict on a request, recorded with it. It decides nothing. */
export const toolCallShadowJudgedSchema = z.strictObject({
  /** The candidate's version. */
  policyVersion: digestSchema,
  outcome,
  ruleId,
  /** The verdict of the policy in force. */
  live: z.strictObject({ outcome, ruleId }),
  /** The differences: the outcome, or who must agree; empty when there is none. */
  differs: z.array(z.string()),
  why: z.array(z.string()),
});
