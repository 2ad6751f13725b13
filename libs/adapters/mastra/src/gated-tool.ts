import { gateTool, type GateTool, type InputOf, type JsonSchema, type ToolGating } from '@countersign/worker-sdk';
import { noopObserve, type ToolExecutionContext } from '@mastra/core/tools';
import type { z } from 'zod';

/** The second argument that the framework passes to a tool. */
export type FrameworkContext = ToolExecutionContext;

/** The options of the framework's `createTool`, and how the tool stands behind the gate. `needsApproval`: default `true`. */
export interface GatedToolOptions<S extends z.ZodObject | JsonSchema> extends ToolGating<InputOf<S>, FrameworkContext> {
  readonly id: string;
  readonly description: string;
  readonly inputSchema: S;
  /** `context` is the framework's. Its `abortSignal` aborts as well when the claim is lost or the time limit is over. */
  readonly execute: (input: InputOf<S>, context: FrameworkContext) => unknown;
}

/** A tool for `gateTools`. */
export interface GatedTool {
  readonly id: string;
  readonly description: string;
  readonly inputSchema: z.ZodObject | JsonSchema;
  readonly gate: GateTool<FrameworkContext>;
}

/**
 * Declares a tool behind the gate: use it in place of the framework's `createTool`.
 *
 * @example
 * const refund = gatedTool({
 *   id: 'refund',
 *   description: 'Refunds an amount',
 *   inputSchema: z.object({ amount: z.number() }),
 *   needsApproval: ({ amount }) => amount > 10,
 *   execute: ({ amount }) => ({ refunded: amount }),
 * });
 */
export function gatedTool<const S extends z.ZodObject | JsonSchema>(options: GatedToolOptions<S>): GatedTool {
  const { id, execute, ...rest } = options;
  const { description, inputSchema } = rest;
  const gate = gateTool<S, FrameworkContext>({
    needsApproval: true,
    ...rest,
    name: id,
    inputIsParsed: true,
    signalOf: (context) => context?.abortSignal,
    execute: (input, { context, signal }) => execute(input, { observe: noopObserve, ...context, abortSignal: signal }),
  });
  return { id, description, inputSchema, gate };
}
