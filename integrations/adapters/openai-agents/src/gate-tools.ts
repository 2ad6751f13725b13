import {
  type AbortableRunMembers,
  assertRequested,
  createWorker,
  modelOutput,
  NotApprovedError,
  type FrameworkGate,
  type JsonValue,
  type Step,
  type Worker,
  type WorkerOptions,
} from '@countersign/worker-sdk';
import { tool, type RunContext, type Tool } from '@openai/agents';
import { z } from 'zod';
import { frameworkAgentTool, type GatedAgentTool } from './agent-tool.js';
import { textOfError, type FrameworkContext, type FrameworkOptions, type GatedTool } from './gated-tool.js';
import { callsIn, resumeState, type AnyAgent, type Limits, type Resumed } from './resume.js';

/** One run of the agents. */
export interface GatedRun {
  /** For `new Agent({ tools })`; also for agents that others use as a tool. */
  readonly tools: readonly Tool[];
  /**
   * Reads a stored state, and answers those of its interruptions that are decided in the ledger, after waiting up to
   * `timeoutMs` (default: not at all) for all of them. Give its state to `run`. Throws `CountersignError` with
   * `tool-call-mismatch` when the arguments are not those that were requested, and `NotApprovedError` for a call that was
   * never requested.
   */
  readonly resume: <A extends AnyAgent>(agent: A, state: string, limits?: Limits) => Promise<Resumed<A>>;
}

/** The gate of one agent. */
export type Gate = FrameworkGate<GatedRun, FrameworkContext, AbortableRunMembers>;

/**
 * Puts tools of the OpenAI Agents SDK behind Countersign.
 *
 * @example
 * const gate = gateTools({ url: 'http://127.0.0.1:7400', token: process.env['COUNTERSIGN_TOKEN'] ?? '', agentId: 'support' }, [
 *   refund,
 * ]);
 */
export function gateTools(
  options: Omit<WorkerOptions<FrameworkContext>, 'tools'>,
  tools: readonly (GatedTool | GatedAgentTool)[],
): Gate {
  const worker = createWorker<FrameworkContext>({ ...options, tools: tools.map(({ gate }) => gate) });
  const names = new Set(tools.map(({ name }) => name));
  return {
    run: (runId, { signal, ...more } = {}) => {
      const ids = { ...more, runId };
      const stored = new Map<string, JsonValue | undefined>();
      return {
        tools: toolsOfRun({ worker, run: ids, stored, signal }, tools),
        resume: async (agent, state, limits) => {
          const resumed = await resumeState(worker, ids, names, agent, state, limits);
          for (const [id, args] of callsIn(state)) stored.set(id, args);
          return resumed;
        },
      };
    },
    worker,
    close: () => worker.close(),
  };
}

/** One run, and the calls of the stored states that it has read. */
interface Around {
  readonly worker: Worker<FrameworkContext>;
  readonly run: Pick<Step, 'runId' | 'parentCallId' | 'onBehalfOf'>;
  readonly stored: ReadonlyMap<string, JsonValue | undefined>;
  /** The framework hands over none where it asks for an approval. */
  readonly signal: AbortSignal | undefined;
}

/** An agent that is a tool gets the tools before it. */
function toolsOfRun(around: Around, tools: readonly (GatedTool | GatedAgentTool)[]): readonly Tool[] {
  const { worker, run, stored } = around;
  const made: Tool[] = [];
  for (const one of tools) {
    if (!('agentOf' in one)) {
      made.push(frameworkTool(around, one));
      continue;
    }
    const rawArguments = (toolCallId: string): JsonValue | undefined => stored.get(toolCallId);
    const more = { agent: one.agentOf([...made]), needsApproval: needsPersonIn(around, one), rawArguments };
    made.push(frameworkAgentTool(worker, run, one, more));
  }
  return made;
}

/** Asks the ledger whether the framework must interrupt the run for a call. */
function needsPersonIn({ worker, run, stored, signal }: Around, one: GatedTool | GatedAgentTool) {
  return async (runContext: RunContext, input: unknown, toolCallId = ''): Promise<boolean> => {
    const { name } = one;
    assertSynchronous(one, input);
    // The framework asks before each execution, also about a call of a stored state. The state may come from a client, so
    // such a call must be in the ledger.
    const isApproved = runContext.isToolApproved({ toolName: name, callId: toolCallId }) === true;
    const isResumed = isApproved || stored.has(toolCallId);
    if (isResumed) await assertRequested(worker, run.runId, [toolCallId]);
    const rawArguments = stored.get(toolCallId);
    const call = { toolCallId, toolName: name, arguments: input as JsonValue, rawArguments };
    const { hasPendingApprovals } = await worker.ask(
      { ...run, toolCalls: [call] },
      { context: { runContext }, signal },
    );
    return hasPendingApprovals;
  };
}

function frameworkTool(around: Around, one: GatedTool): Tool {
  const { name, description, parameters, framework } = one;
  const { worker, run, stored } = around;
  return tool({
    ...(framework as Omit<FrameworkOptions, 'strict'>),
    name,
    description,
    parameters: forgiving(parameters) as z.ZodObject,
    needsApproval: needsPersonIn(around, one),
    execute: async (input: unknown, runContext, details) => {
      const toolCallId = details?.toolCall?.callId ?? '';
      const { signal } = details ?? {};
      const { result, approval } = await worker.call(
        { ...run, toolCallId, toolName: name, arguments: input as JsonValue, rawArguments: stored.get(toolCallId) },
        { context: { runContext, ...(details === undefined ? {} : { details }) }, signal },
      );
      if (result === null) throw new NotApprovedError(toolCallId, approval?.approvalId ?? null);
      return modelOutput(result);
    },
    // By default the model would be told to try again.
    errorFunction: (_context, error) => textOfError(error),
  });
}

/**
 * The schema, but its `parse` returns what it does not accept. The framework would refuse the call, although it may be recorded,
 * and may have run, with the schema that the tool had before. The worker makes the same check.
 */
function forgiving(parameters: GatedTool['parameters']): GatedTool['parameters'] {
  if (!(parameters instanceof z.ZodType)) return parameters;
  const parse = (input: unknown): unknown => {
    try {
      return parameters.parse(input);
    } catch {
      return input;
    }
  };
  return Object.create(parameters, { parse: { value: parse } }) as z.ZodObject;
}

/** The framework parses the arguments synchronously. After its approval the call could not run. */
function assertSynchronous({ name, parameters }: GatedTool | GatedAgentTool, input: unknown): void {
  try {
    if (parameters instanceof z.ZodType) parameters.safeParse(input);
  } catch (error) {
    if (!(error instanceof z.core.$ZodAsyncError)) return;
    const why = 'its parameters are checked asynchronously, which the framework cannot';
    const remedy = 'use a synchronous check, or check in `execute`';
    throw new TypeError(`tool ${name}: ${why}: ${remedy}`, { cause: error });
  }
}
