import type { JsonObject } from '@countersign/contracts';
import type { ExecutionContext } from '../tools/tool-definition.js';

/** A call whose tool is about to run. */
export interface RunningCall<C = unknown> extends ExecutionContext<C> {
  readonly toolName: string;
  /** The approved arguments. They cannot be replaced. */
  readonly arguments: JsonObject;
}

/**
 * Runs around a tool: call `next` to run it, and return its output. The first one in the list is the outermost. One that
 * does not call `next` gives the output in place of the tool; one that throws fails the call.
 *
 * @example
 * const timed: Middleware = async ({ toolName }, next) => {
 *   const startedAt = performance.now();
 *   try {
 *     return await next();
 *   } finally {
 *     console.log(toolName, Math.round(performance.now() - startedAt), 'ms');
 *   }
 * };
 */
export type Middleware<C = unknown> = (call: RunningCall<C>, next: () => Promise<unknown>) => unknown;

/** Runs a tool inside its middleware. */
export async function runThrough(
  [first, ...rest]: readonly Middleware[],
  call: RunningCall,
  run: () => Promise<unknown>,
): Promise<unknown> {
  if (first === undefined) return run();
  let isCalled = false;
  // Attack: a middleware changes the arguments or the approval in place, for the tool or for the next middleware.
  const copied = { ...call, arguments: structuredClone(call.arguments), approval: structuredClone(call.approval) };
  return first(copied, async () => {
    if (isCalled) throw new Error('next() was called twice: a tool runs once');
    isCalled = true;
    return runThrough(rest, call, run);
  });
}
