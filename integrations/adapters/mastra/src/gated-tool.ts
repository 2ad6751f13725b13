import {
  forwardedOptions,
  gateTool,
  type GateTool,
  type InputOf,
  type JsonSchema,
  type ToolGating,
} from '@countersign/worker-sdk';
import { noopObserve, type ToolAction, type ToolExecutionContext } from '@mastra/core/tools';
import type { z } from 'zod';

/** The second argument that the framework passes to a tool. */
export type FrameworkContext = ToolExecutionContext;

const own = [
  'id',
  'description',
  'inputSchema',
  'execute',
] as const satisfies readonly (keyof ToolMembers<JsonSchema>)[];

/** The options of the framework's `createTool` that reach it unchanged. */
const forwarded = [
  'title',
  'strict',
  'providerOptions',
  'inputExamples',
  'requestContextSchema',
  'transform',
  'mcp',
  'mcpMetadata',
  'onInputStart',
  'onInputDelta',
  'onInputAvailable',
  'onOutput',
] as const;

const isText = 'after an edit or an answer the output is a text';
const isAsked = 'Countersign asks people, and suspends the run until they decide';

/** The options of the framework's `createTool` that cannot be kept, and why. */
const refused = {
  requireApproval: 'use `needsApproval`',
  outputSchema: isText,
  toModelOutput: isText,
  suspendSchema: isAsked,
  resumeSchema: isAsked,
  background: isAsked,
  mastra: 'the framework sets it',
} as const;

/** The options of the framework's `createTool` that reach it unchanged. */
export type FrameworkOptions<I = unknown> = Pick<ToolAction<I, unknown>, (typeof forwarded)[number]>;

interface ToolMembers<S extends z.ZodObject | JsonSchema> {
  readonly id: string;
  readonly description: string;
  readonly inputSchema: S;
  /** `context` is the framework's. Its `abortSignal` aborts as well when the claim is lost or the time limit is over. */
  readonly execute: (input: InputOf<S>, context: FrameworkContext) => unknown;
}

/**
 * The options of the framework's `createTool` that a gated tool takes, and how it stands behind the gate. `needsApproval`:
 * default `true`, with a `decide` `false`.
 */
export interface GatedToolOptions<S extends z.ZodObject | JsonSchema>
  extends
    ToolMembers<S>,
    ToolGating<InputOf<S>, FrameworkContext>,
    FrameworkOptions<InputOf<S>>,
    Readonly<Partial<Record<keyof typeof refused, never>>> {}

/** A tool for `gateTools`. */
export interface GatedTool {
  readonly id: string;
  readonly description: string;
  readonly inputSchema: z.ZodObject | JsonSchema;
  readonly framework: FrameworkOptions;
  readonly gate: GateTool<FrameworkContext>;
}

/**
 * Declares a tool behind the gate: use it in place of the framework's `createTool`. Throws a TypeError for an option that
 * it does not take.
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
  const { id, description, inputSchema, execute } = options;
  const framework = forwardedOptions(id, options, { own, forwarded, refused }) as FrameworkOptions;
  const gate = gateTool<S, FrameworkContext>({
    ...options,
    needsApproval: options.needsApproval ?? options.decide === undefined,
    name: id,
    inputIsParsed: true,
    signalOf: (context) => context?.abortSignal,
    execute: (input, { context, signal }) => execute(input, { observe: noopObserve, ...context, abortSignal: signal }),
  });
  return { id, description, inputSchema, framework, gate };
}
