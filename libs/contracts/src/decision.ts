import { z } from 'zod';
import { jsonObjectSchema, jsonValueSchema } from './json.js';

/** What a person decides about a proposal. */
export const decisionSchema = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('approve') }),
    z.strictObject({ type: z.literal('edit'), arguments: jsonObjectSchema }),
    z.strictObject({ type: z.literal('deny') }),
    z.strictObject({ type: z.literal('answer'), output: jsonValueSchema }),
  ])
  .meta({ id: 'Decision', description: 'What a person decides about a proposal.' });
export type Decision = z.infer<typeof decisionSchema>;
