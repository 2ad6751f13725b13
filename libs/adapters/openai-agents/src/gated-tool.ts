import { gateTool, type GateTool, type InputOf, type JsonSchema, type ToolGating } from '@countersign/worker-sdk';
import type { FunctionTool, RunContext } from '@openai/agents';
import type { z } from 'zod';

/** The values that the framework passes to a tool besides its input. Predicates get no `details`. */
export interface FrameworkContext {
  readonly runContext: RunContext | undefined;
  readonly details?: Parameters<FunctionTool['invoke']>[2];
}

/** The options of the framework's `tool`, and how it stands behind the gate. `needsApproval`: default `true`. */
export interface GatedToolOptions<S extends z.ZodObject | JsonSchema> extends ToolGating<InputOf<S>, FrameworkContext> {
  readonly name: string;
  readonly description: string;
  /** A zod object, or a JSON Schema in the strict form of the provider. */
  readonly parameters: S;
  readonly execute: (input: InputOf<S>, runContext?: RunContext, details?: FrameworkContext['details']) => unknown;
}

/** A tool for `gateTools`. */
export interface GatedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: z.ZodObject | JsonSchema;
  readonly gate: GateTool<FrameworkContext>;
}

/**
 * Declares a tool behind the gate: use it in place of the framework's `tool`, which would hide from the ledger that a
 * tool has failed.
 *
 * @example
 * const refund = gatedTool({
 *   name: 'refund',
 *   description: 'Refunds an amount',
 *   parameters: z.object({ amount: z.number() }),
 *   needsApproval: ({ amount }) => amount > 10,
 *   execute: ({ amount }) => ({ refunded: amount }),
 * });
 */
export function gatedTool<const S extends z.ZodObject | JsonSchema>(options: GatedToolOptions<S>): GatedTool {
  const { parameters, execute, ...rest } = options;
  const { name, description } = rest;
  const gate = gateTool<S, FrameworkContext>({
    needsApproval: true,
    ...rest,
    inputSchema: parameters,
    inputIsParsed: true,
    signalOf: (context) => context?.details?.signal,
    execute: (input, { context, signal }) => execute(input, context?.runContext, { ...context?.details, signal }),
  });
  return { name, description, parameters, gate };
}
