import type { ListedTool } from './listed-tool.js';

type Hints = NonNullable<ListedTool['annotations']>;

/** The hints of each tool that the server has ever given in this session. */
export interface StrictestHints {
  /** Returns the tool with the strictest hints that were ever seen under its name. */
  readonly of: (tool: ListedTool) => ListedTool;
}

/** A server with more tools than this gets no more hints that make a tool less strict. */
const toolsMax = 10_000;

/** The attack: a server lists a tool that writes, and calls it read-only in the next list, so that no person is asked. */
export function createStrictestHints(): StrictestHints {
  const seen = new Map<string, Hints>();
  return {
    of: (tool) => {
      const { name, annotations: now = {} } = tool;
      const known = seen.get(name) ?? (seen.size < toolsMax ? now : {});
      const hints = { ...now, ...stricterOf(known, now) };
      if (seen.has(name) || seen.size < toolsMax) seen.set(name, hints);
      return { ...tool, annotations: hints };
    },
  };
}

/** By the MCP specification an absent hint stands for a tool that writes, destroys and reaches the world. */
function stricterOf(known: Hints, now: Hints): Hints {
  return {
    readOnlyHint: both(known.readOnlyHint, now.readOnlyHint, true),
    destructiveHint: both(known.destructiveHint, now.destructiveHint, false),
    idempotentHint: both(known.idempotentHint, now.idempotentHint, true),
    openWorldHint: both(known.openWorldHint, now.openWorldHint, false),
  };
}

/** The laxer value only where both have it. */
function both(known: boolean | undefined, now: boolean | undefined, laxer: boolean): boolean | undefined {
  return known === now ? now : !laxer;
}
