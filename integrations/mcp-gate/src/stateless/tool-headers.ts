import { objectOf, type Reply } from '../wire.js';
import { headerArgumentsOf, type HeaderArgument } from './param-headers.js';

type Members = Readonly<Record<string, unknown>>;

/** The arguments that headers repeat, of each tool of a server. */
export interface ToolHeaders {
  /** Rejects when the server does not list its tools in time. */
  readonly of: (tool: unknown) => Promise<readonly HeaderArgument[]>;
  /** The list of tools has changed. */
  readonly forget: () => void;
}

/** A server with more pages than this lists for ever. */
const pagesMax = 100;

/**
 * @param request makes a request of the gate itself.
 * @param limitMs a listing that takes longer fails.
 */
export function createToolHeaders(
  request: (method: string, params: Members) => Promise<Reply>,
  limitMs = 30_000,
): ToolHeaders {
  let listed: Promise<ReadonlyMap<unknown, readonly HeaderArgument[]>> | undefined;
  const list = async (): Promise<ReadonlyMap<unknown, readonly HeaderArgument[]>> => {
    const found = new Map<unknown, readonly HeaderArgument[]>();
    let params: Members = {};
    for (let page = 0; page < pagesMax; page += 1) {
      const reply = await request('tools/list', params);
      const { tools, nextCursor } = 'result' in reply ? reply.result : {};
      for (const tool of Array.isArray(tools) ? tools.map(objectOf) : []) {
        found.set(tool['name'], headerArgumentsOf(tool['inputSchema']) ?? []);
      }
      if (typeof nextCursor !== 'string') break;
      params = { cursor: nextCursor };
    }
    return found;
  };
  return {
    of: async (tool) => {
      try {
        return (await (listed ??= inTime(list(), limitMs))).get(tool) ?? [];
      } catch (error) {
        listed = undefined;
        throw error;
      }
    },
    forget: () => {
      listed = undefined;
    },
  };
}

async function inTime<T>(work: Promise<T>, limitMs: number): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new Error(`the MCP server did not list its tools within ${String(limitMs / 1_000)} s`));
  }, limitMs);
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}
