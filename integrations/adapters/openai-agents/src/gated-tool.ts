import {
  CountersignError,
  forwardedOptions,
  gateTool,
  NotApprovedError,
  type ApprovalContext,
  type ApprovalVerdict,
  type GateTool,
  type InputOf,
  type JsonSchema,
  type NeedsApproval as SdkNeedsApproval,
  type ToolGating,
} from '@countersign/worker-sdk';
import type { FunctionTool, RunContext, ToolOptions } from '@openai/agents';
import type { z } from 'zod';

/** The values that the framework passes to a tool besides its input. Predicates get no `details`. */
export interface FrameworkContext {
  readonly runContext: RunContext | undefined;
  readonly details?: Parameters<FunctionTool['invoke']>[2];
  /** Runs the agent that is the tool. The adapter sets it. */
  readonly runAgent?: (input: unknown, signal: AbortSignal) => Promise<unknown>;
}

/**
 * `true`, or a predicate with the framework's arguments in the framework's order. Besides `true` and `false` it may return
 * `{ required, reason }`. A predicate that throws means `true`.
 */
export type NeedsApproval<I> =
  boolean | ((runContext: RunContext, input: I, callId: string) => ApprovalVerdict | Promise<ApprovalVerdict>);

const own = [
  'name',
  'description',
  'parameters',
  'execute',
] as const satisfies readonly (keyof ToolMembers<JsonSchema>)[];

/** The options of the framework's `tool` that reach it unchanged. */
const forwarded = [
  'isEnabled',
  'strict',
  'deferLoading',
  'providerData',
  'allowedCallers',
  'inputGuardrails',
  'outputGuardrails',
  'customDataExtractor',
] as const;

/** The options of the framework's `tool` that cannot be kept, and why. */
const refused = {
  timeoutMs: 'use `toolTimeoutMs`',
  timeoutBehavior: 'use `toolTimeoutMs`; the model gets the error of the ledger',
  timeoutErrorFunction: 'use `toolTimeoutMs`; the model gets the error of the ledger',
  errorFunction: 'the model gets the error of the tool, or why it did not run',
  outputSchema: 'after an edit or an answer the output is a text',
} as const;

/** The options of the framework's `tool` that reach it unchanged. */
export type FrameworkOptions = Pick<ToolOptions<z.ZodObject>, (typeof forwarded)[number]>;

/** How the tool stands behind the gate. */
export interface Gating<I> extends Omit<ToolGating<I, FrameworkContext>, 'needsApproval'> {
  /**
   * Default `true`, with a `decide` `false`. The policy of the server can be stricter, never laxer. A predicate may be asked more than once for a call.
   * Outside a run, where there is no run context, it is not asked, and a person must agree.
   */
  readonly needsApproval?: NeedsApproval<I>;
}

interface ToolMembers<S extends z.ZodObject | JsonSchema> {
  readonly name: string;
  readonly description: string;
  /** A zod object, or a JSON Schema; in the strict form of the provider, unless `strict` is `false`. */
  readonly parameters: S;
  readonly execute: (input: InputOf<S>, runContext?: RunContext, details?: FrameworkContext['details']) => unknown;
}

/** The options of the framework's `tool` that a gated tool takes, and how it stands behind the gate. */
export interface GatedToolOptions<S extends z.ZodObject | JsonSchema>
  extends
    ToolMembers<S>,
    Gating<InputOf<S>>,
    FrameworkOptions,
    Readonly<Partial<Record<keyof typeof refused, never>>> {}

/** A tool for `gateTools`. */
export interface GatedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: z.ZodObject | JsonSchema;
  readonly framework: FrameworkOptions;
  readonly gate: GateTool<FrameworkContext>;
}

/**
 * Declares a tool behind the gate: use it in place of the framework's `tool`, which would hide from the ledger that a
 * tool has failed. Throws a TypeError for an option that it does not take.
 *
 * @example
 * const refund = gatedTool({
 *   name: 'refund',
 *   description: 'Refunds an amount',
 *   parameters: z.object({ amount: z.number() }),
 *   needsApproval: (_runContext, { amount }) => amount > 10,
 *   execute: ({ amount }) => ({ refunded: amount }),
 * });
 */
export function gatedTool<const S extends z.ZodObject | JsonSchema>(options: GatedToolOptions<S>): GatedTool {
  const framework = forwardedOptions(options.name, options, { own, forwarded, refused });
  checkName(options.name);
  const { name, description, parameters, execute } = options;
  const gate = gateTool<S, FrameworkContext>({
    ...options,
    needsApproval: needsApprovalOf(options),
    inputSchema: parameters,
    inputIsParsed: true,
    signalOf: (context) => context?.details?.signal,
    execute: (input, { context, signal }) => execute(input, context?.runContext, { ...context?.details, signal }),
  });
  return { name, description, parameters, framework, gate };
}

/** The error of a tool as the model is told it. Throws the error of a call that the ledger does not let run. */
export function textOfError(error: unknown): string {
  if (error instanceof NotApprovedError || error instanceof CountersignError) throw error;
  return error instanceof Error ? error.message : String(error);
}

/** The predicate as the worker asks it. */
export function needsApprovalOf<I>({
  needsApproval,
  decide,
}: Pick<Gating<I>, 'needsApproval' | 'decide'>): SdkNeedsApproval<I, FrameworkContext> {
  if (typeof needsApproval === 'function') return checkInRun(needsApproval);
  return needsApproval ?? decide === undefined;
}

/** A name that the framework changes would be another one in the interruptions than in the ledger. */
export function checkName(name: string): void {
  const changed = name.replace(/[^a-zA-Z0-9]/g, '_');
  if (changed !== name) throw new TypeError(`tool ${name}: name it ${changed}, as the framework would call it`);
}

function checkInRun<I>(needsApproval: Exclude<NeedsApproval<I>, boolean>) {
  return (input: I, { context, toolCallId }: ApprovalContext<FrameworkContext>) => {
    const runContext = context?.runContext;
    if (runContext === undefined) throw new Error('there is no run context outside a run');
    return needsApproval(runContext, input, toolCallId);
  };
}
