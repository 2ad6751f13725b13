import type { JsonObject, PersonAt } from '@countersign/contracts';
import { z } from 'zod';

const delegateSchema = z.object({ to: z.string(), from: z.string(), until: z.string() });
const personSchema = z.object({
  id: z.string(),
  groups: z.array(z.string()).default([]),
  delegates: z.array(delegateSchema).default([]),
});
const policySchema = z.object({ approvers: z.array(personSchema).default([]) });

/** The people that a recorded policy names, with those who could answer for them at a time (ms since the epoch). */
export function peopleAt(content: JsonObject, atMs: number): readonly PersonAt[] {
  // It was valid when it was put in force.
  return policySchema.parse(content).approvers.map(({ id, groups, delegates }) => ({
    ...{ principal: id, groups },
    delegates: delegates.filter(({ from, until }) => Date.parse(from) <= atMs && atMs < Date.parse(until)),
  }));
}
