import { z } from 'zod';
import type { InnerRequests } from './inner-requests.js';

const toolSchema = z.looseObject({
  name: z.string(),
  description: z.string().optional().catch(undefined),
  inputSchema: z.record(z.string(), z.json()).catch({ type: 'object' }),
  outputSchema: z.record(z.string(), z.json()).optional().catch(undefined),
  annotations: z
    .object({
      title: z.string().max(256).optional().catch(undefined),
      readOnlyHint: z.boolean().optional().catch(undefined),
      destructiveHint: z.boolean().optional().catch(undefined),
      idempotentHint: z.boolean().optional().catch(undefined),
      openWorldHint: z.boolean().optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
  execution: z.object({ taskSupport: z.string().optional() }).optional().catch(undefined),
});

const pageSchema = z.looseObject({ tools: z.array(toolSchema), nextCursor: z.string().optional() });

/** A tool as the inner server lists it. */
export type ListedTool = z.infer<typeof toolSchema>;

/** The tools of the inner server. */
export interface Catalog {
  /** Returns an unlisted tool without annotations, so that it needs approval. Throws when the server lists none. */
  readonly find: (name: string) => Promise<ListedTool>;
  /** The list has changed. */
  readonly forget: () => void;
}

/** A server with more pages than this lists for ever. */
const pagesMax = 100;

export function createCatalog(requests: InnerRequests): Catalog {
  let listed: Promise<ReadonlyMap<string, ListedTool>> | undefined;
  const list = (): Promise<ReadonlyMap<string, ListedTool>> => {
    listed ??= listTools(requests).catch((error: unknown) => {
      listed = undefined;
      throw error;
    });
    return listed;
  };
  return {
    find: async (name) => {
      const known = (await list()).get(name);
      if (known !== undefined) return known;
      // A server may have forgotten to announce a new tool.
      listed = undefined;
      return (await list()).get(name) ?? { name, inputSchema: { type: 'object' } };
    },
    forget: () => {
      listed = undefined;
    },
  };
}

async function listTools(requests: InnerRequests): Promise<ReadonlyMap<string, ListedTool>> {
  const tools = new Map<string, ListedTool>();
  let cursor: string | undefined;
  for (let page = 0; page < pagesMax; page += 1) {
    const reply = await requests.send('tools/list', cursor === undefined ? {} : { cursor }).reply;
    if ('error' in reply) throw new Error(`the MCP server did not list its tools: ${reply.error.message}`);
    const { tools: some, nextCursor } = pageSchema.parse(reply.result);
    for (const tool of some) tools.set(tool.name, tool);
    if (nextCursor === undefined) return tools;
    cursor = nextCursor;
  }
  throw new Error('the MCP server lists its tools without end');
}
