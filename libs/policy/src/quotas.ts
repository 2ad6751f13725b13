import { z } from 'zod';
import { durationSchema } from './field-schemas.js';

/** The last decisions about an agent are read for each of its questions. */
const deniedMax = 20;

/** The quotas of a policy file. */
export const quotasSchema = z
  .strictObject({
    pendingPerAgent: z.int().min(1).max(100_000).optional(),
    deniedBeforeCoolDown: z.int().min(1).max(deniedMax).optional(),
    coolDown: durationSchema.optional(),
    coalesceIdentical: z.boolean().optional(),
  })
  .superRefine(({ deniedBeforeCoolDown, coolDown }, context) => {
    const refuse = (key: string, other: string): void => {
      context.addIssue({ code: 'custom', path: [key], message: `needs "${other}"` });
    };
    if (coolDown === undefined && deniedBeforeCoolDown !== undefined) refuse('deniedBeforeCoolDown', 'coolDown');
    if (coolDown !== undefined && deniedBeforeCoolDown === undefined) refuse('coolDown', 'deniedBeforeCoolDown');
  });

/** How much an agent may ask of people. */
export interface Quotas {
  /** The approvals of one agent that may be pending; null: any number. */
  readonly pendingPerAgent: number | null;
  /** So many denials in a row within `ms` make the agent wait for `ms`; null: none do. */
  readonly coolDown: { readonly denials: number; readonly ms: number } | null;
  /** People are asked once about identical calls of a run. */
  readonly coalesceIdentical: boolean;
}

/** The quotas as written, or null without any. */
export function toQuotas(written: z.output<typeof quotasSchema> | undefined): Quotas | null {
  if (written === undefined) return null;
  const { pendingPerAgent = null, deniedBeforeCoolDown: denials, coolDown: ms, coalesceIdentical = false } = written;
  const coolDown = denials === undefined || ms === undefined ? null : { denials, ms };
  return { pendingPerAgent, coolDown, coalesceIdentical };
}
