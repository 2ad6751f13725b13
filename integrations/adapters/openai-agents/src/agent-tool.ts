import {
  forwardedOptions,
  gateTool,
  modelOutput,
  NotApprovedError,
  type GateTool,
  type InputOf,
  type JsonValue,
  type Step,
  type ToolResult,
  type Worker,
} from '@countersign/worker-sdk';
import { RunContext, type FunctionTool, type Tool } from '@openai/agents';
import { z } from 'zod';
import { checkName, needsApprovalOf, textOfError, type FrameworkContext, type Gating } from './gated-tool.js';
import type { AnyAgent } from './resume.js';

type AsToolOptions = Parameters<AnyAgent['asTool']>[0];
type Details = FrameworkContext['details'];

const own = ['agent', 'toolName', 'toolDescription', 'parameters', 'customOutputExtractor'] as const;

/** The options of the framework's `asTool` that reach it unchanged. */
const forwarded = [
  'isEnabled',
  'inputBuilder',
  'includeInputSchema',
  'runConfig',
  'runOptions',
  'resumeState',
  'onStream',
  'onStreamMaxPendingEvents',
] as const;

const defaultParameters = z.object({ input: z.string() });

/** The options of the framework's `asTool`, and how the agent stands behind the gate. */
export interface GatedAgentToolOptions<S extends z.ZodObject = typeof defaultParameters>
  extends Gating<InputOf<S>>, Pick<AsToolOptions, (typeof forwarded)[number] | 'customOutputExtractor'> {
  /**
   * The agent, or a function that makes it for each run. The function gets the tools of the run that stand before this one in the list
   * of `gateTools`: give the agent those that it may call.
   */
  readonly agent: AnyAgent | ((tools: readonly Tool[]) => AnyAgent);
  readonly toolName: string;
  readonly toolDescription: string;
  /** A zod object. Default: `{ input: string }`, as in the framework. */
  readonly parameters?: S;
}

/** An agent for `gateTools`, which other agents use as a tool. */
export interface GatedAgentTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: z.ZodObject;
  readonly agentOf: (tools: readonly Tool[]) => AnyAgent;
  readonly framework: Omit<AsToolOptions, 'needsApproval' | 'toolName' | 'toolDescription'>;
  readonly gate: GateTool<FrameworkContext>;
}

/**
 * Declares an agent as a tool behind the gate: use it in place of the framework's `agent.asTool`. Throws a TypeError for an option that
 * it does not take.
 *
 * @example
 * const cashier = gatedAgentTool({
 *   agent: (tools) => new Agent({ name: 'cashier', instructions: 'You refund.', model, tools: [...tools] }),
 *   toolName: 'ask_cashier',
 *   toolDescription: 'Asks the cashier',
 *   decide: ({ input }) => (input.includes('New York') ? { deny: 'not for New York' } : 'ask'),
 * });
 */
export function gatedAgentTool<const S extends z.ZodObject = typeof defaultParameters>(
  options: GatedAgentToolOptions<S>,
): GatedAgentTool {
  const { toolName: name, toolDescription: description, agent, parameters, customOutputExtractor } = options;
  const given: Pick<AsToolOptions, (typeof forwarded)[number]> = forwardedOptions(name, options, {
    own,
    forwarded,
    refused: {},
  });
  checkName(name);
  const agentOf = typeof agent === 'function' ? agent : () => agent;
  const framework = {
    ...given,
    ...(parameters === undefined ? {} : { parameters }),
    ...(customOutputExtractor === undefined ? {} : { customOutputExtractor }),
  } as GatedAgentTool['framework'];
  const inputSchema = (parameters ?? defaultParameters) as S;
  const outside = (input: unknown, signal: AbortSignal) =>
    runOutside({ name, description, agentOf, framework }, input, signal);
  const gate = gateTool<S, FrameworkContext>({
    ...options,
    needsApproval: needsApprovalOf<InputOf<S>>(options),
    ...{ name, description, inputSchema, inputIsParsed: true },
    signalOf: (context) => context?.details?.signal,
    execute: (input, { context, signal }) => (context?.runAgent ?? outside)(input, signal),
  });
  return { name, description, parameters: inputSchema, agentOf, framework, gate };
}

/** The tool of the framework in one run. `needsApproval` asks the ledger. */
export function frameworkAgentTool(
  worker: Worker<FrameworkContext>,
  run: Pick<Step, 'runId' | 'parentCallId' | 'onBehalfOf'>,
  one: GatedAgentTool,
  { agent, needsApproval, rawArguments }: RunOfAgent,
): Tool {
  const { tool, start } = agentTool(one, agent, needsApproval);
  const endOf = async (toolCallId: string, input: string, context: FrameworkContext): Promise<ToolResult> => {
    const call = { toolCallId, toolName: one.name, arguments: JSON.parse(input) as JsonValue };
    const { result, approval } = await worker.call(
      { ...run, ...call, rawArguments: rawArguments(toolCallId) },
      { context, signal: context.details?.signal },
    );
    if (result === null) throw new NotApprovedError(toolCallId, approval?.approvalId ?? null);
    return result;
  };
  const resumed = async (runContext: RunContext, details: NonNullable<Details>, args: unknown): Promise<string> => {
    if (details.resumeState === undefined) return `${one.name} waits for people in another copy of this run.`;
    return (await start(runContext, args, details)).text;
  };
  const invoke: FunctionTool['invoke'] = async (runContext, input, details = {}) => {
    const here = { hasPaused: false };
    const runAgent = async (args: unknown, signal: AbortSignal): Promise<unknown> => {
      const { isPaused, text } = await start(runContext, args, withSignal(details, signal));
      here.hasPaused = isPaused;
      return isPaused ? paused : text;
    };
    const result = await endOf(details.toolCall?.callId ?? '', input, { runContext, details, runAgent });
    // The framework finds the calls that the agent waits for, and interrupts the outer run.
    if (here.hasPaused) return '';
    return told(() => (isPause(result) ? resumed(runContext, details, result.arguments) : modelOutput(result)));
  };
  return Object.assign(tool, { invoke });
}

/** The parts of a run that a tool of it needs. */
interface RunOfAgent {
  readonly agent: AnyAgent;
  readonly needsApproval: NonNullable<AsToolOptions['needsApproval']>;
  /** The arguments of a call as a stored state has them. */
  readonly rawArguments: (toolCallId: string) => JsonValue | undefined;
}

/** The recorded output of an agent whose own calls wait for people. An agent itself outputs a text. */
const paused = { waitsForPeople: true } as const;

function isPause({ status, answered, output }: ToolResult): boolean {
  return status === 'succeeded' && !answered && typeof output === 'object' && output !== null;
}

interface End {
  readonly text: string;
  /** Calls of the agent wait for people. The framework keeps its state in that of the outer run. */
  readonly isPaused: boolean;
}

type Start = (runContext: RunContext, args: unknown, details: Details) => Promise<End>;

/** The framework's tool, and what runs the agent. The tool keeps its identity: the framework finds the agent of a stored state by it. */
function agentTool(
  { name, description, framework }: Pick<GatedAgentTool, 'name' | 'description' | 'framework'>,
  agent: AnyAgent,
  needsApproval: RunOfAgent['needsApproval'],
): { readonly tool: ReturnType<AnyAgent['asTool']>; readonly start: Start } {
  const ends = new Map<string, boolean>();
  const { customOutputExtractor } = framework;
  const tool = agent.asTool({
    ...framework,
    ...{ toolName: name, toolDescription: description, needsApproval },
    // It is called when the agent has ended. When it failed, the framework returns a text, which hides the error.
    customOutputExtractor: async (result) => {
      const isPaused = result.interruptions.length > 0;
      ends.set(result.agentToolInvocation.toolCallId ?? '', isPaused);
      if (isPaused) return '';
      return customOutputExtractor === undefined ? textOf(result.finalOutput) : customOutputExtractor(result);
    },
  } as AsToolOptions);
  const run = tool.invoke;
  const start: Start = async (runContext, args, details) => {
    const toolCallId = details?.toolCall?.callId ?? '';
    ends.delete(toolCallId);
    const text = textOf(await run(runContext, JSON.stringify(args), details));
    const isPaused = ends.get(toolCallId);
    if (isPaused === undefined) throw new Error(`The agent of ${name} failed`);
    return { text, isPaused };
  };
  return { tool, start };
}

/** Runs the agent for a worker that has no run of the framework around it. */
async function runOutside(
  one: Pick<GatedAgentTool, 'name' | 'description' | 'agentOf' | 'framework'>,
  input: unknown,
  signal: AbortSignal,
): Promise<string> {
  const { start } = agentTool(one, one.agentOf([]), false);
  const { text, isPaused } = await start(new RunContext(), input, { signal });
  if (isPaused) throw new Error(`${one.name} waits for people, and outside a run of the framework its state is lost`);
  return text;
}

/** The framework keeps members in the details that are not enumerable. */
function withSignal(details: Details, signal: AbortSignal): Details {
  return Object.create(details ?? {}, { signal: { value: signal, enumerable: true } }) as Details;
}

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output ?? '');
}

/** Returns the output, or the error as a text for the model. */
async function told(outputOf: () => unknown): Promise<unknown> {
  try {
    return await outputOf();
  } catch (error) {
    return textOfError(error);
  }
}
