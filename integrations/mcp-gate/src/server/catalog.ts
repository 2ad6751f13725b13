import { z } from 'zod';
import type { InnerRequests } from './inner-requests.js';
import type { Reply } from '../wire.js';
import { toolSchema, type ListedTool } from './listed-tool.js';
import { createStrictestHints, type StrictestHints } from './strictest-hints.js';

const pageSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional().catch(undefined) });

/** The tools of the inner server. */
export interface Catalog {
  /**
   * Returns the tool as it is listed now, with the strictest annotations that it ever had here. Returns an unlisted tool
   * without annotations, so that it needs approval. Throws when the server lists none in time, and when the signal aborts.
   */
  readonly find: (name: string, signal?: AbortSignal) => Promise<ListedTool>;
  /** The list has changed. */
  readonly forget: () => void;
}

type Listing = ReadonlyMap<string, ListedTool>;

/** A server with more pages than this lists for ever. */
const pagesMax = 100;

/** @param limitMs a listing that takes longer fails. */
export function createCatalog(requests: InnerRequests, limitMs = 30_000): Catalog {
  let listed: Promise<Listing> | undefined;
  const hints = createStrictestHints();
  const list = (): Promise<Listing> => {
    if (listed !== undefined) return listed;
    const listing = listTools(requests, hints, limitMs);
    listed = listing;
    listing.catch(() => {
      if (listed === listing) listed = undefined;
    });
    return listing;
  };
  const find = async (name: string): Promise<ListedTool> => {
    const known = (await list()).get(name);
    if (known !== undefined) return known;
    // A server may have forgotten to announce a new tool.
    listed = undefined;
    return (await list()).get(name) ?? hints.of({ name, inputSchema: { type: 'object' } });
  };
  return {
    find: (name, signal) => (signal === undefined ? find(name) : unlessAborted(find(name), signal)),
    forget: () => {
      listed = undefined;
    },
  };
}

async function listTools(requests: InnerRequests, hints: StrictestHints, limitMs: number): Promise<Listing> {
  const limit = createListingLimit(limitMs);
  try {
    const tools = new Map<string, ListedTool>();
    let cursor: string | undefined;
    for (let page = 0; page < pagesMax; page += 1) {
      const request = requests.send('tools/list', cursor === undefined ? {} : { cursor });
      const { tools: some, nextCursor } = pageOf(await Promise.race([request.reply, limit.over]));
      for (const tool of some) tools.set(tool.name, stricterOf(tools.get(tool.name), hints.of(tool)));
      if (nextCursor === undefined) return tools;
      cursor = nextCursor;
    }
    throw new Error('the MCP server lists its tools without end');
  } finally {
    limit.release();
  }
}

/** The attack: a server lists a tool twice, and the client shows the entry that the gate does not judge by. */
function stricterOf(known: ListedTool | undefined, tool: ListedTool): ListedTool {
  return known !== undefined && severityOf(known) >= severityOf(tool) ? known : tool;
}

function severityOf({ annotations = {} }: ListedTool): number {
  if (annotations.readOnlyHint === true) return 0;
  // By the MCP specification a tool that says nothing is destructive.
  return annotations.destructiveHint === false ? 1 : 2;
}

function createListingLimit(limitMs: number): { readonly over: Promise<never>; readonly release: () => void } {
  const { promise: over, reject } = Promise.withResolvers<never>();
  over.catch(() => undefined);
  const timer = setTimeout(() => {
    reject(new Error(`the MCP server did not list its tools within ${String(limitMs / 1_000)} s`));
  }, limitMs);
  return { over, release: () => clearTimeout(timer) };
}

function pageOf(reply: Reply): { readonly tools: readonly ListedTool[]; readonly nextCursor?: string | undefined } {
  if ('error' in reply) throw new Error(`the MCP server did not list its tools: ${reply.error.message}`);
  const page = pageSchema.safeParse(reply.result);
  if (!page.success) throw new Error('the MCP server did not list its tools: its result has no array `tools`');
  return { tools: page.data.tools.flatMap(readTool), nextCursor: page.data.nextCursor };
}

/** A malformed entry counts as not listed: it must not keep the other tools from running. */
function readTool(entry: unknown): readonly ListedTool[] {
  try {
    return [toolSchema.parse(entry)];
  } catch {
    // Also a schema that is nested so deep that it cannot be read.
    return [];
  }
}

/** The search goes on for other calls. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  aborted.catch(() => undefined);
  const abort = (): void => {
    reject(signal.reason as Error);
  };
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
