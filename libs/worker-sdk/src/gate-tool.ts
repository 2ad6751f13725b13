import type { ApprovalView, DecisionType, DurationMs, JsonObject, JsonValue } from '@countersign/contracts';
import type { z } from 'zod';
import { messageOf } from './errors.js';
import { inputSchemaOf, type InputIssue, type InputOf, type JsonSchema } from './schema.js';
import { checkLimitMs } from './time-limit.js';

/** A tool call as the model proposed it. `arguments` are untrusted. */
export interface ProposedCall {
  /** The id from the model or its framework. The same id is the same call. */
  readonly toolCallId: string;
  readonly toolName: string;
  readonly arguments: JsonValue;
}

/** The context of a predicate besides the validated input. `C` is the type of the context that the worker's user passes. */
export interface ApprovalContext<C = unknown> {
  readonly runId: string;
  readonly agentId: string;
  readonly toolCallId: string;
  /** The conversation, as it was given to `step`. */
  readonly messages: readonly unknown[];
  /** All calls of the same model step, as proposed. */
  readonly batch: readonly ProposedCall[];
  /** What was passed as `context` to `step`, `call` or `run`. It stays in this process. */
  readonly context: C | undefined;
}

/** The context of a tool besides its input. */
export interface ExecutionContext<C = unknown> {
  readonly callId: string;
  readonly runId: string;
  readonly agentId: string;
  readonly toolCallId: string;
  /** The same for all attempts of this call: pass it to the services that the tool calls. */
  readonly idempotencyKey: string;
  readonly attempt: number;
  /** Aborts when the time limit is over, when another worker has the claim, and when the worker is closed. */
  readonly signal: AbortSignal;
  /** The approval that permits this call; null when none was needed. */
  readonly approval: ApprovalView | null;
  /** The conversation, as it was given to `step`; empty after a restart. */
  readonly messages: readonly unknown[];
  /** What was passed as `context` to the call of the worker that runs the tool. It stays in this process. */
  readonly context: C | undefined;
}

/**
 * `true`, or a predicate over the VALIDATED input. A predicate that throws or returns anything but a boolean means
 * `true`.
 */
export type NeedsApproval<I, C = unknown> =
  boolean | ((input: I, context: ApprovalContext<C>) => boolean | Promise<boolean>);

interface ToolBase<S, I, C> {
  readonly name: string;
  /** A description of the tool. Approvers see it unless `approvalPrompt` replaces it. */
  readonly description?: string;
  /** A zod schema, or a JSON Schema. Mark secrets with `.meta({ sensitive: true })`: approvers see them masked. */
  readonly inputSchema: S;
  /** Default `false`. The policy of the server can be stricter, never laxer. */
  readonly needsApproval?: NeedsApproval<I, C>;
  /** The question put to people. It is not masked: leave secrets out of it. */
  readonly approvalPrompt?: (input: I, context: ApprovalContext<C>) => string;
  /** May run again after a crash. Default: `false`; then an unclear outcome becomes `unknown`. */
  readonly idempotent?: boolean;
  /**
   * How long it may run, in ms. Then its signal aborts, and the call fails (`tool-timeout`) if the tool is idempotent;
   * otherwise it becomes `unknown` at the end of its lease. Default: the worker's.
   */
  readonly toolTimeoutMs?: number;
  /** How long people may take. Default: the policy's, 1 h. */
  readonly expiresInMs?: DurationMs;
  readonly allowedDecisions?: readonly DecisionType[];
  readonly labels?: Readonly<Record<string, string>>;
}

/** The executor of the tool: this worker, or the user's client. Exactly one of them. */
type RunsWhere<I, C> =
  | { readonly execute: (input: I, context: ExecutionContext<C>) => unknown; readonly clientExecuted?: false }
  | { readonly clientExecuted: true; readonly execute?: undefined };

/** The definition of a tool. */
export type ToolDefinition<S extends z.ZodType | JsonSchema, C = unknown> = ToolBase<S, InputOf<S>, C> &
  RunsWhere<InputOf<S>, C>;

/** The worker's own facts about a call. */
export interface ApprovalNeed {
  readonly needsApproval: boolean;
  readonly reason?: string;
}

/** A call of a tool whose arguments are valid. */
export interface CheckedCall<C = unknown> {
  readonly valid: true;
  /** The arguments to approve and to run. */
  readonly arguments: JsonObject;
  readonly judge: (context: ApprovalContext<C>) => Promise<ApprovalNeed>;
  readonly describe: (context: ApprovalContext<C>) => string | undefined;
  /** Runs the tool. A client-executed tool has none. */
  readonly execute: ((context: ExecutionContext<C>) => Promise<unknown>) | undefined;
}

/** A tool as the worker uses it. */
export interface GateTool<C = unknown> {
  readonly name: string;
  readonly description: string | undefined;
  readonly toolSchema: JsonObject;
  readonly toolSchemaHash: string;
  readonly clientExecuted: boolean;
  readonly idempotent: boolean;
  readonly toolTimeoutMs: number | undefined;
  readonly expiresInMs: DurationMs | undefined;
  readonly allowedDecisions: readonly DecisionType[] | undefined;
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** Validates arguments, those of the model and those that an approver put in their place alike. */
  readonly check: (
    args: JsonValue,
  ) => Promise<CheckedCall<C> | { readonly valid: false; readonly issues: readonly InputIssue[] }>;
}

/**
 * Declares a tool, and when a person must agree to a call of it.
 *
 * Throws a TypeError for a tool that nobody would run (neither `execute` nor `clientExecuted`), or two would.
 *
 * @example
 * const deleteFile = gateTool({
 *   name: 'delete_file',
 *   description: 'Deletes a file',
 *   inputSchema: z.strictObject({ path: z.string() }),
 *   needsApproval: ({ path }) => !/^\/workspace\/[\w-]+\.txt$/.test(path),
 *   approvalPrompt: ({ path }) => `Delete ${path}?`,
 *   execute: async ({ path }) => {
 *     await unlink(path);
 *     return { deleted: path };
 *   },
 * });
 */
export function gateTool<const S extends z.ZodType | JsonSchema, C = unknown>(
  definition: ToolDefinition<S, C>,
): GateTool<C> {
  assertRunnable(definition);
  checkLimitMs(`tool ${definition.name}`, definition.toolTimeoutMs);
  const schema = inputSchemaOf(definition.inputSchema);
  const { name, description, needsApproval = false, approvalPrompt, execute } = definition;
  return {
    name,
    description,
    toolSchema: schema.json,
    toolSchemaHash: schema.hash,
    clientExecuted: definition.clientExecuted ?? false,
    idempotent: definition.idempotent ?? false,
    toolTimeoutMs: definition.toolTimeoutMs,
    expiresInMs: definition.expiresInMs,
    allowedDecisions: definition.allowedDecisions,
    labels: definition.labels,
    check: async (args) => {
      const parsed = await schema.parse(args);
      if (!parsed.valid) return parsed;
      const { input } = parsed;
      return {
        valid: true,
        arguments: parsed.arguments,
        judge: (context) => judge(name, needsApproval, input, context),
        describe: (context) => prompt(approvalPrompt, input, context) ?? description,
        execute: execute === undefined ? undefined : async (context) => execute(input, context),
      };
    },
  };
}

/** Checked again at run time: types do not reach tools written in JavaScript. */
function assertRunnable(definition: {
  readonly name: string;
  readonly needsApproval?: unknown;
  readonly execute?: unknown;
  readonly clientExecuted?: unknown;
}): void {
  const { name, needsApproval, execute, clientExecuted } = definition;
  const runsHere = typeof execute === 'function';
  if (!runsHere && clientExecuted !== true) {
    throw new TypeError(`tool ${name}: give it \`execute\`, or \`clientExecuted: true\` if the client runs it`);
  }
  if (runsHere && clientExecuted === true) {
    throw new TypeError(`tool ${name}: \`execute\` and \`clientExecuted: true\` exclude each other`);
  }
  if (!['undefined', 'boolean', 'function'].includes(typeof needsApproval)) {
    throw new TypeError(`tool ${name}: \`needsApproval\` must be a boolean or a function`);
  }
}

async function judge<I, C>(
  name: string,
  needs: NeedsApproval<I, C>,
  input: I,
  context: ApprovalContext<C>,
): Promise<ApprovalNeed> {
  if (typeof needs === 'boolean') return { needsApproval: needs };
  try {
    const verdict: unknown = await needs(input, context);
    if (typeof verdict === 'boolean') return { needsApproval: verdict };
    return failClosed(`The approval check of ${name} answered neither true nor false`);
  } catch (error) {
    return failClosed(`The approval check of ${name} failed (${messageOf(error)})`);
  }
}

function failClosed(why: string): ApprovalNeed {
  return { needsApproval: true, reason: cut(`${why}, so a person must agree.`) };
}

function prompt<I, C>(
  approvalPrompt: ((input: I, context: ApprovalContext<C>) => string) | undefined,
  input: I,
  context: ApprovalContext<C>,
): string | undefined {
  try {
    const text: unknown = approvalPrompt?.(input, context);
    return typeof text === 'string' ? cut(text) : undefined;
  } catch {
    // The question is for people's comfort: without it they still see tool and arguments.
    return undefined;
  }
}

const textMax = 8000;

function cut(text: string): string {
  return text.length <= textMax ? text : `${text.slice(0, textMax)} …`;
}
