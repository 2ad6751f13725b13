import type {
  ApprovalView,
  DecisionType,
  DurationMs,
  JsonObject,
  JsonValue,
  Presented,
  SchemaNote,
  ToolHints,
} from '@countersign/contracts';
import type { z } from 'zod';
import type { Labels } from './call-labels.js';
import type { InputIssue } from './json-schema.js';
import type { InputOf, JsonSchema } from './schema.js';

/** A tool call as the model proposed it. `arguments` are untrusted. */
export interface ProposedCall {
  /**
   * The id from the model or its framework. The same id is the same call of the run, so where the ids of a model repeat,
   * such as the name of a function or an empty text, put the step in front of them: `step-7/get_weather`.
   */
  readonly toolCallId: string;
  readonly toolName: string;
  readonly arguments: JsonValue;
  /**
   * The arguments as the model wrote them, when a framework has parsed `arguments` since. A recorded call whose tool had
   * another schema is found again by them. Default: `arguments`.
   */
  readonly rawArguments?: JsonValue | undefined;
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
  /** The `context` of the call to `step`, `call` or `run`. It stays in this process. */
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
  /**
   * The receipt of the claim as long as its lease is now: pass it to the server of the tool, which can check it. Null: the
   * server has no key for receipts.
   */
  readonly receipt: () => string | null;
  /** Aborts when the time limit is over, when another worker has the claim, and when the worker is closed. */
  readonly signal: AbortSignal;
  /** The approval that permits this call; null when none was needed. */
  readonly approval: ApprovalView | null;
  /** The conversation, as it was given to `step`; empty after a restart. */
  readonly messages: readonly unknown[];
  /** The `context` of the worker's method that runs the tool. It stays in this process. */
  readonly context: C | undefined;
  /**
   * Asks a person in the middle of the tool, as a call of its own inside this one, and resolves to the answer. The claim
   * is renewed meanwhile, and the time limit of the tool stands still. Throws `CountersignError` when there is no answer:
   * `question-denied`, `question-expired`, `question-cancelled`.
   */
  readonly ask: (question: Question) => Promise<JsonValue>;
}

/** The tool name of the calls that `ask` makes: policies and filters know them by it. */
export const questionToolName = 'ask_person';

/** A question from inside a running tool. */
export interface Question {
  readonly question: string;
  /** Details for the approver, in addition to the reason. */
  readonly details?: JsonObject | undefined;
  /** Tells apart two equal questions of one call. Without it they are one question, with one answer. */
  readonly id?: string | undefined;
  /** How long people may take, in ms. Default: the policy's, 1 h (3,600,000). */
  readonly expiresInMs?: DurationMs | undefined;
  /** Such as the chat in which it is asked. A question has none of the labels of its call by itself: policies judge it by its own. */
  readonly labels?: Labels | undefined;
}

/** The result of a predicate. The log has the reason, and approvers see it, also where only the policy asks them. */
export type ApprovalVerdict = boolean | { readonly required: boolean; readonly reason?: string | undefined };

/**
 * `true`, or a predicate over the VALIDATED input. A predicate that throws or returns anything but a verdict means
 * `true`.
 */
export type NeedsApproval<I, C = unknown> =
  boolean | ((input: I, context: ApprovalContext<C>) => ApprovalVerdict | Promise<ApprovalVerdict>);

/** The result of `decide`. A denial is recorded with its reason: the tool does not run, no person is asked, and the model gets the reason. */
export type CodeDecision = 'allow' | 'ask' | { readonly deny: string };

/** A function over the VALIDATED input. One that throws or returns anything else means `ask`. */
export type Decide<I, C = unknown> = (input: I, context: ApprovalContext<C>) => CodeDecision | Promise<CodeDecision>;

/** How a tool stands behind the gate. */
export interface ToolGating<I, C = unknown> {
  /**
   * Default `false`. It concerns its own call: other calls of the step do not wait for it. The policy of the server can be stricter, never
   * laxer. A predicate may be asked more than once for a call, so its result must depend on the input and the `batch` alone.
   */
  readonly needsApproval?: NeedsApproval<I, C>;
  /**
   * Allows, asks or denies in code. With `needsApproval` the stricter of both counts, and so it does with the policy of the server:
   * `allow` takes no question away. It is asked again about arguments that an approver edited, and before a call runs that another process requested;
   * a denial then cancels the call. Its result must depend on the input alone.
   */
  readonly decide?: Decide<I, C>;
  /** The question put to people. It is not masked: leave secrets out of it. One that throws is replaced by the description. */
  readonly approvalPrompt?: (input: I, context: ApprovalContext<C>) => string | Promise<string>;
  /** May run again after a crash. Default: `false`; then an unclear outcome becomes `unknown`. */
  readonly idempotent?: boolean;
  /**
   * How long it may run, in ms. Then its signal aborts, and the call fails (`tool-timeout`) if the tool is idempotent;
   * otherwise it becomes `unknown` at the end of its lease. Default: the worker's.
   */
  readonly toolTimeoutMs?: number;
  /** How long people may take, in ms. Default: the policy's, 1 h (3,600,000). */
  readonly expiresInMs?: DurationMs;
  readonly allowedDecisions?: readonly DecisionType[];
  /**
   * Shown to people, and the policy and the channels can use them. `cwd`, `mcpServer`, `mcpEndpoint` and `mcpDefinition` also say where
   * the tool works: with another one it is another call, and a worker whose tool has another one does not run it. No other label makes
   * another call: a recorded one keeps the labels that it was requested with first.
   *
   * A function gives labels to each call, such as the chat of its conversation. It names none of these four. The call fails
   * (`invalid-labels`) where it throws or returns anything but texts by name.
   */
  readonly labels?: Labels | ((input: I, context: ApprovalContext<C>) => Labels | Promise<Labels>);
}

interface ToolBase<S, I, C> extends ToolGating<I, C> {
  readonly name: string;
  /** A description of the tool. Approvers see it unless `approvalPrompt` replaces it; without both, a default question. */
  readonly description?: string;
  /** A zod schema, or a JSON Schema. Mark secrets with `.meta({ sensitive: true })`: approvers see them masked. */
  readonly inputSchema: S;
  /**
   * The arguments come from a framework that has parsed them by this schema already. Then a schema that would change them
   * once more is refused as `invalid-arguments`: the tool would get another value than people see.
   */
  readonly inputIsParsed?: boolean;
  /** The signal of a framework around the worker: that of the tool aborts with it, too. */
  readonly signalOf?: ((context: C | undefined) => AbortSignal | undefined) | undefined;
  /** The annotations of an MCP tool, for expressions of the policy. */
  readonly hints?: ToolHints | undefined;
  /** A title of the tool for people. */
  readonly title?: string | undefined;
  /** Data about a call that people see besides the arguments: at most 8 KiB as JSON. Nothing judges them. */
  readonly metadata?:
    JsonObject | ((input: InputOf<S>, context: ApprovalContext<C>) => JsonObject | undefined) | undefined;
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
  /** The reason for which the code denies the call. */
  readonly deny?: string;
}

/** A call of a tool whose arguments are valid. */
export interface CheckedCall<C = unknown> {
  readonly valid: true;
  /** The arguments to approve and to run. */
  readonly arguments: JsonObject;
  readonly judge: (context: ApprovalContext<C>) => Promise<ApprovalNeed>;
  /** Returns the reason for which `decide` denies the call; undefined: it does not. */
  readonly denial: (context: ApprovalContext<C>) => Promise<string | undefined>;
  readonly describe: (context: ApprovalContext<C>) => Promise<string>;
  /** What people see besides. */
  readonly present: (context: ApprovalContext<C>) => Presented;
  /** The labels that the tool gives to this call, besides its own. @throws what the function of the tool throws, and a TypeError for what is no label. */
  readonly label: (context: ApprovalContext<C>) => Promise<Labels>;
  /** Runs the tool. A client-executed tool has none. */
  readonly execute: ((context: ExecutionContext<C>) => Promise<unknown>) | undefined;
}

/** A tool as the worker uses it. */
export interface GateTool<C = unknown> {
  readonly name: string;
  readonly description: string | undefined;
  readonly toolSchema: JsonObject;
  readonly toolSchemaHash: string;
  /** The parts of `toolSchema` that the server does not check. */
  readonly schemaNotes: readonly SchemaNote[];
  readonly clientExecuted: boolean;
  readonly idempotent: boolean;
  readonly toolTimeoutMs: number | undefined;
  readonly expiresInMs: DurationMs | undefined;
  readonly allowedDecisions: readonly DecisionType[] | undefined;
  /** Those that all calls of the tool have. */
  readonly labels: Labels | undefined;
  readonly hints: ToolHints | undefined;
  readonly signalOf: ((context: C | undefined) => AbortSignal | undefined) | undefined;
  /**
   * Validates arguments, those of the model and those that an approver put in their place alike.
   *
   * @param isRecorded they come from the server. Default: false.
   */
  readonly check: (
    args: JsonValue,
    isRecorded?: boolean,
  ) => Promise<CheckedCall<C> | { readonly valid: false; readonly issues: readonly InputIssue[] }>;
}
