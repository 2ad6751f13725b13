import {
  checkGating,
  createWorker,
  gateTool,
  isSameJson,
  modelNote,
  modelText,
  type ExecutionContext,
  type JsonObject,
  type JsonValue,
  type ToolGating,
  type ToolResult,
  type Worker,
  type WorkerOptions,
} from '@countersign/worker-sdk';
import { ToolMessage, type ContentBlock, type ToolCall } from '@langchain/core/messages';
import {
  tool,
  ToolInputParsingException,
  type StructuredToolInterface,
  type ToolRunnableConfig,
} from '@langchain/core/tools';
import { toJsonSchema } from '@langchain/core/utils/json_schema';
import {
  interopSafeParseAsync,
  isInteropZodSchema,
  type InferInteropZodOutput,
  type InteropZodType,
} from '@langchain/core/utils/types';
import { interrupt, isCommand, isGraphBubbleUp, isGraphInterrupt } from '@langchain/langgraph';
import { createFailures, type Failures } from './failures.js';
import { interruptOf } from './review.js';

/** How one tool asks: as in `gateTool` of the worker SDK. Without `needsApproval` and `decide` every call needs approval. */
export type GatedToolOptions<I = JsonObject> = ToolGating<I>;

/** A tool with a zod schema and a literal name knows the type of its input. */
type InputOf<T, N> = string extends N
  ? JsonObject
  : T extends { readonly name: N; readonly schema: infer S extends InteropZodType }
    ? InferInteropZodOutput<S>
    : T extends { readonly name: N }
      ? JsonObject
      : never;

/** The connection to Countersign, and the tools to put behind it. */
export interface GateToolsOptions<
  T extends readonly StructuredToolInterface[] = readonly StructuredToolInterface[],
> extends Omit<WorkerOptions, 'tools'> {
  readonly tools: T;
  /** By the name of the tool. */
  readonly options?: { readonly [N in T[number]['name']]?: GatedToolOptions<InputOf<T[number], N>> };
  /** Hears at error level of calls that Countersign refused or could not be asked about. Default: `console.error`. */
  readonly log?: WorkerOptions['log'];
}

/** Tools behind Countersign. */
export interface Gate {
  /** In the order of the given ones: use them in their place. */
  readonly tools: StructuredToolInterface[];
  /** For everything else: cancelling, asking again after expiry, the API. */
  readonly worker: Worker;
  readonly close: () => Promise<void>;
}

/** The execution of a tool within one call of the framework. A worker that recovers a run has no framework around it. */
interface InFramework {
  readonly config: ToolRunnableConfig;
  hasStarted: boolean;
}

/**
 * Puts tools behind Countersign, for `createAgent` of LangChain and for any graph of LangGraph with a `ToolNode`. A call that
 * waits for people is an interrupt; resume the thread with any value but null and undefined once they have decided. The
 * thread id is the run, so a checkpointer is needed. A resume value is never believed: the tool runs when the ledger says
 * so, and once.
 *
 * An error, such as a wrong token, does not end the run: LangChain gives each error of a tool to the model. It is logged.
 *
 * @throws TypeError for options of a tool that is not among the tools, and for an option that a gate does not have.
 * @example
 * const gate = gateTools({
 *   url: 'http://127.0.0.1:7400',
 *   token: process.env['COUNTERSIGN_TOKEN'] ?? '',
 *   agentId: 'support',
 *   tools: [refund],
 *   options: { refund: { approvalPrompt: ({ amount }) => `Refund ${amount}?` } },
 * });
 * const agent = createAgent({ model, tools: gate.tools, checkpointer });
 */
export function gateTools<const T extends readonly StructuredToolInterface[]>({
  tools,
  options,
  ...connection
}: GateToolsOptions<T>): Gate {
  const byName = new Map(Object.entries<GatedToolOptions | undefined>({ ...options }));
  const unknown = [...byName.keys()].find((name) => !tools.some((one) => one.name === name));
  if (unknown !== undefined) throw new TypeError(`options for ${unknown}, but there is no tool of this name`);
  const worker = createWorker({
    ...connection,
    tools: tools.map((inner) => gated(inner, byName.get(inner.name))),
  });
  const failures = createFailures(connection.log);
  return {
    tools: tools.map((inner) => wrapped(inner, worker, failures)),
    worker,
    close: () => worker.close(),
  };
}

function gated(inner: StructuredToolInterface, options: GatedToolOptions = {}): ReturnType<typeof gateTool> {
  checkGating(inner.name, options);
  return gateTool({
    ...options,
    needsApproval: options.needsApproval ?? options.decide === undefined,
    name: inner.name,
    description: inner.description,
    inputSchema: toJsonSchema(inner.schema) as JsonObject,
    signalOf: (context) => (context as InFramework | undefined)?.config.signal,
    execute: (args, { toolCallId, signal, context }: ExecutionContext) =>
      runInner(inner, { name: inner.name, id: toolCallId, args }, context as InFramework | undefined, signal),
  });
}

/** Runs the tool as the framework would. An error that the framework puts into a message is an error for the ledger too. */
async function runInner(
  inner: StructuredToolInterface,
  call: { readonly name: string; readonly id: string; readonly args: JsonObject },
  around: InFramework | undefined,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    await refuseTransforms(inner, call.args, false);
    if (around !== undefined) around.hasStarted = true;
    const output: unknown = await inner.invoke({ ...call, type: 'tool_call' }, { ...around?.config, signal });
    if (isCommand(output)) throw new Error('the tool ran, but it returned a Command, which the ledger cannot record');
    if (!ToolMessage.isInstance(output)) return output;
    if (output.status === 'error') throw new Error(output.text);
    return output.content;
  } catch (error) {
    if (!isGraphInterrupt(error)) throw error;
    throw new Error('a tool behind Countersign cannot interrupt: it has been claimed', { cause: error });
  }
}

function wrapped(inner: StructuredToolInterface, worker: Worker, failures: Failures): StructuredToolInterface {
  const { name, description, schema, returnDirect } = inner;

  const resultOf = async (args: JsonObject, toolCallId: string, context: InFramework): Promise<ToolResult> => {
    const { configurable, signal, toolCall } = context.config;
    const runId: unknown = configurable?.['thread_id'];
    if (typeof runId !== 'string') throw new Error(`${name} needs a checkpointer and a thread_id to ask people`);
    const rawArguments = toolCall?.args as JsonObject | undefined;
    const call = { runId, toolCallId, toolName: name, arguments: args, rawArguments };
    for (;;) {
      const { result, approval } = await worker.call(call, { context, signal });
      failures.over();
      if (result !== null) return result;
      // Throws to pause. It returns when the thread is resumed: what it returns is no decision, so the ledger is asked again.
      if (approval !== null) interrupt(interruptOf(approval));
    }
  };

  /** `refusal`: the framework did not accept the arguments. It is thrown unless the ledger has the call. */
  const func = async (args: unknown, config: ToolRunnableConfig, refusal?: Error): Promise<ToolMessage> => {
    const toolCallId = config.toolCall?.id;
    if (toolCallId === undefined) throw new Error(`${name} was called without a tool call id`);
    const context: InFramework = { config, hasStarted: false };
    try {
      if (refusal === undefined) await refuseTransforms(inner, args, true);
      const result = await resultOf(args as JsonObject, toolCallId, context);
      if (refusal === undefined || result.callId !== null) return messageOf(result);
    } catch (error) {
      if (isGraphBubbleUp(error) || config.signal?.aborted === true) throw error;
      const content = failures.tell(error, { toolName: name, toolCallId, hasStarted: context.hasStarted });
      return new ToolMessage({ tool_call_id: toolCallId, name, content, status: 'error' });
    }
    throw refusal;
  };
  const run = (args: unknown, config: ToolRunnableConfig): Promise<ToolMessage> => func(args, config);
  const gated = tool(run, { name, description, schema: schema as JsonObject, returnDirect });
  const invoke = gated.invoke.bind(gated) as StructuredToolInterface['invoke'];
  // The framework parses first. The call may be recorded, and may have run, with the schema that the tool had before.
  const invokeGated: StructuredToolInterface['invoke'] = async (input, config) => {
    try {
      return (await invoke(input, config)) as unknown;
    } catch (error) {
      if (!(error instanceof ToolInputParsingException) || !isToolCall(input)) throw error;
      return func(input.args, { ...config, toolCall: input }, error);
    }
  };
  return Object.assign(gated, { invoke: invokeGated });
}

function isToolCall(input: unknown): input is ToolCall {
  return typeof input === 'object' && input !== null && 'type' in input && input.type === 'tool_call';
}

/**
 * The framework parses at each step. A schema that changes or refuses its own output would give the tool another value than
 * people saw. An edit is no output of it.
 */
async function refuseTransforms(inner: StructuredToolInterface, args: unknown, isOutput: boolean): Promise<void> {
  const { name, schema } = inner;
  if (!isInteropZodSchema(schema)) return;
  const parsed = await interopSafeParseAsync(schema, args);
  if (!parsed.success && !isOutput) {
    const issues = parsed.error.issues.map(({ path, message }) => `/${path.join('/')}: ${message}`);
    throw new TypeError(`The arguments do not match the schema of the tool: ${issues.join('; ')}`);
  }
  if (parsed.success && isSameJson(parsed.data, args)) return;
  throw new TypeError(`the schema of ${name} transforms, so people would see another value than it gets`);
}

function messageOf(result: ToolResult): ToolMessage {
  const { toolCallId, toolName, status } = result;
  return new ToolMessage({
    tool_call_id: toolCallId,
    name: toolName,
    content: contentOf(result),
    status: status === 'succeeded' ? 'success' : 'error',
  });
}

/** Content blocks stay blocks, so that the model gets an image as an image. */
function contentOf(result: ToolResult): string | ContentBlock[] {
  const { output } = result;
  if (result.status !== 'succeeded' || !isContent(output)) return modelText(result);
  const note = modelNote(result);
  return note === null ? [...output] : [...output, { type: 'text', text: note }];
}

function isContent(output: JsonValue): output is readonly (ContentBlock & JsonObject)[] {
  if (!Array.isArray(output) || output.length === 0) return false;
  return output.every((block: unknown) => typeof block === 'object' && block !== null && 'type' in block);
}
