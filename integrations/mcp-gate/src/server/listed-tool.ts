import { z } from 'zod';

/** A tool of a list; what cannot be read of it is left out. */
export const toolSchema = z.looseObject({
  name: z.string(),
  title: z.string().optional().catch(undefined),
  description: z.string().optional().catch(undefined),
  inputSchema: z.record(z.string(), z.json()).catch({ type: 'object' }),
  outputSchema: z.record(z.string(), z.json()).optional().catch(undefined),
  annotations: z
    .object({
      title: z
        .string()
        .transform((title) => title.slice(0, 256).toWellFormed())
        .optional()
        .catch(undefined),
      readOnlyHint: z.boolean().optional().catch(undefined),
      destructiveHint: z.boolean().optional().catch(undefined),
      idempotentHint: z.boolean().optional().catch(undefined),
      openWorldHint: z.boolean().optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
  execution: z.object({ taskSupport: z.string().optional() }).optional().catch(undefined),
});

/** A tool as the inner server lists it. */
export type ListedTool = z.infer<typeof toolSchema>;
