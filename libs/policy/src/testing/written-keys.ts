import { z } from 'zod';
import { someAutoApprovedSchema } from '../auto-approved.js';
import { policyFileSchema } from '../policy-file.js';
import { otherThanAllowSchema } from '../rule-schema.js';

/**
 * Returns the path of every key that a policy file may have, out of its schema: `rules.then.require.stages.anyOf`. Keys
 * with members are left out, their members are there.
 */
export function writtenKeys(schema: z.ZodType = policyFileSchema): readonly string[] {
  const members = keysOf(schema);
  // These schemas are applied by a function, so that mistakes are reported at their own place.
  const then = keysOf(otherThanAllowSchema).map((key) => `rules.then.${key}`);
  const listed = keysOf(someAutoApprovedSchema).map((key) => `autoApprovedTools.${key}`);
  return members.flatMap((path) => {
    if (path === 'rules.then') return then;
    return path === 'autoApprovedTools' ? [path, ...listed] : [path];
  });
}

function keysOf(schema: unknown): readonly string[] {
  const inner = innerOf(schema);
  if (!(inner instanceof z.ZodObject)) return [];
  return Object.entries(inner.shape).flatMap(([key, value]) => {
    const members = keysOf(value);
    return members.length === 0 ? [key] : members.map((member) => `${key}.${member}`);
  });
}

/** The schema of the values in an optional value, a list or a transformed value. */
function innerOf(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodExactOptional) {
    return innerOf(schema.unwrap());
  }
  if (schema instanceof z.ZodArray) return innerOf(schema.element);
  return schema instanceof z.ZodPipe ? innerOf(schema.in) : schema;
}
