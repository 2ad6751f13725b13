import { z } from 'zod';

/** The largest depth of nested calls: the number of calls around a call. */
export const nestingMax = 8;

/** One call around a nested call, as its own stream records it. */
export const chainLinkSchema = z.strictObject({
  callId: z.string(),
  agentId: z.string(),
  toolName: z.string(),
  runId: z.string(),
  requestedBy: z.string(),
  owner: z.string().exactOptional(),
  onBehalfOf: z.string().exactOptional(),
});
export type ChainLink = z.infer<typeof chainLinkSchema>;

/** A call around a nested call, as people see it. */
export const chainLinkViewSchema = z
  .strictObject({
    callId: z.string(),
    agentId: z.string(),
    toolName: z.string(),
    runId: z.string(),
    requestedBy: z.string().meta({ description: 'The principal that requested it' }),
    owner: z.string().nullable().meta({ description: 'The person who is responsible for its agent' }),
    onBehalfOf: z.string().nullable().meta({ description: 'The person for whom its agent says that it acts' }),
  })
  .meta({ id: 'ChainLink', description: 'A call inside which a nested call runs.' });
export type ChainLinkView = z.infer<typeof chainLinkViewSchema>;
