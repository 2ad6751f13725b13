import {
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
import { ToolMessage, type ContentBlock } from '@langchain/core/messages';
import { tool, type StructuredToolInterface, type ToolRunnableConfig } from '@langchain/core/tools';
import { toJsonSchema } from '@langchain/core/utils/json_schema';
import { interopParseAsync, isInteropZodSchema } from '@langchain/core/utils/types';
import { interrupt, isCommand, isGraphInterrupt } from '@langchain/langgraph';
import { interruptOf } from './review.js';

/** How one tool asks: as in `gateTool` of the worker SDK. By default every call needs approval. */
export type GatedToolOptions = ToolGating<JsonObject>;

/** The connection to Countersign, and the tools to put behind it. */
export interface GateToolsOptions extends Omit<WorkerOptions, 'tools'> {
  readonly tools: readonly StructuredToolInterface[];
  /** By the name of the tool. */
  readonly options?: Readonly<Record<string, GatedToolOptions>>;
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
  readonly config?: ToolRunnableConfig;
}

/**
 * Puts tools behind Countersign, for `createAgent` of LangChain and for any graph of LangGraph with a `ToolNode`. A call that
 * waits for people is an interrupt; resume the thread with any value once they have decided. The thread id is the run, so
 * a checkpointer is needed. A resume value is never believed: the tool runs when the ledger says so, and once.
 *
 * @throws TypeError for options of a tool that is not among the tools.
 * @example
 * const gate = gateTools({
 *   url: 'http://127.0.0.1:7400',
 *   token: process.env['COUNTERSIGN_TOKEN'] ?? '',
 *   agentId: 'support',
 *   tools: [refund],
 *   options: { refund: { approvalPrompt: ({ amount }) => `Refund ${String(amount)}?` } },
 * });
 * const agent = createAgent({ model, tools: gate.tools, checkpointer });
 */
export function gateTools({ tools, options = {}, ...connection }: GateToolsOptions): Gate {
  const unknown = Object.keys(options).find((name) => !tools.some((one) => one.name === name));
  if (unknown !== undefined) throw new TypeError(`options for ${unknown}, but there is no tool of this name`);
  const worker = createWorker({
    ...connection,
    tools: tools.map((inner) => gated(inner, options[inner.name])),
  });
  return {
    tools: tools.map((inner) => wrapped(inner, worker)),
    worker,
    close: () => worker.close(),
  };
}

function gated(inner: StructuredToolInterface, options: GatedToolOptions = {}): ReturnType<typeof gateTool> {
  return gateTool({
    needsApproval: true,
    ...options,
    name: inner.name,
    description: inner.description,
    inputSchema: toJsonSchema(inner.schema) as JsonObject,
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
    await refuseTransforms(inner, call.args);
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

function wrapped(inner: StructuredToolInterface, worker: Worker): StructuredToolInterface {
  const { name, description, schema, returnDirect } = inner;
  const func = async (args: unknown, config: ToolRunnableConfig): Promise<ToolMessage> => {
    const toolCallId = config.toolCall?.id;
    const runId: unknown = config.configurable?.['thread_id'];
    if (toolCallId === undefined) throw new Error(`${name} was called without a tool call id`);
    if (typeof runId !== 'string') throw new Error(`${name} needs a checkpointer and a thread_id to ask people`);
    await refuseTransforms(inner, args);
    const call = { runId, toolCallId, toolName: name, arguments: args as JsonObject };
    for (;;) {
      const { result, approval } = await worker.call(call, { context: { config }, signal: config.signal });
      if (result !== null) return messageOf(result);
      // Throws to pause. It returns when the thread is resumed: what it returns is no decision, so the ledger is asked again.
      if (approval !== null) interrupt(interruptOf(approval));
    }
  };
  return tool(func, { name, description, schema: schema as JsonObject, returnDirect });
}

/** The framework parses at each step. A schema that changes its own output would give the tool another value than people saw. */
async function refuseTransforms({ name, schema }: StructuredToolInterface, args: unknown): Promise<void> {
  if (!isInteropZodSchema(schema) || isSameJson(await interopParseAsync(schema, args), args)) return;
  throw new TypeError(
    `the schema of ${name} transforms, so people would see another value than it gets: it did not run`,
  );
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
