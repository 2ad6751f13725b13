import { z } from 'zod';

/** The annotations of an MCP tool, as the agent passes them on. They are advisory: nothing checks them. */
export const toolHintsSchema = z
  .strictObject({
    title: z.exactOptional(z.string().max(256)),
    readOnlyHint: z.exactOptional(z.boolean()),
    destructiveHint: z.exactOptional(z.boolean()),
    idempotentHint: z.exactOptional(z.boolean()),
    openWorldHint: z.exactOptional(z.boolean()),
  })
  .meta({
    id: 'ToolHints',
    description:
      'The annotations of the MCP tool. Advisory: they are the words of the agent, for expressions of the policy only',
  });
export type ToolHints = z.infer<typeof toolHintsSchema>;
