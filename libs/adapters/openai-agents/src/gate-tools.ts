import {
  assertRequested,
  CountersignError,
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
import type { z } from 'zod';
import type { FrameworkContext, FrameworkOptions, GatedTool } from './gated-tool.js';
import { callIdsIn, resumeState, type AnyAgent, type Limits, type Resumed } from './resume.js';

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
export type Gate = FrameworkGate<GatedRun, FrameworkContext>;

/**
 * Puts tools of the OpenAI Agents SDK behind Countersign.
 *
 * @example
 * const gate = gateTools({ url: 'http://127.0.0.1:7400', token: process.env['COUNTERSIGN_TOKEN'] ?? '', agentId: 'support' }, [
 *   refund,
 * ]);
 */
export function gateTools(options: Omit<WorkerOptions<FrameworkContext>, 'tools'>, tools: readonly GatedTool[]): Gate {
  const worker = createWorker<FrameworkContext>({ ...options, tools: tools.map(({ gate }) => gate) });
  const names = new Set(tools.map(({ name }) => name));
  return {
    run: (runId, more = {}) => {
      const ids = { ...more, runId };
      const stored = new Set<string>();
      return {
        tools: tools.map((one) => frameworkTool(worker, ids, one, stored)),
        resume: async (agent, state, limits) => {
          const resumed = await resumeState(worker, ids, names, agent, state, limits);
          for (const id of callIdsIn(state)) stored.add(id);
          return resumed;
        },
      };
    },
    worker,
    close: () => worker.close(),
  };
}

function frameworkTool(
  worker: Worker<FrameworkContext>,
  run: Pick<Step, 'runId' | 'parentCallId' | 'onBehalfOf'>,
  one: GatedTool,
  stored: ReadonlySet<string>,
): Tool {
  const { name, description, parameters, framework } = one;
  return tool({
    ...(framework as Omit<FrameworkOptions, 'strict'>),
    name,
    description,
    parameters: parameters as z.ZodObject,
    needsApproval: async (runContext: RunContext, input: unknown, toolCallId = '') => {
      // The framework asks before each execution, also about a call of a stored state. The state may come from a client, so
      // such a call must be in the ledger.
      const isApproved = runContext.isToolApproved({ toolName: name, callId: toolCallId }) === true;
      const isResumed = isApproved || stored.has(toolCallId);
      if (isResumed) await assertRequested(worker, run.runId, [toolCallId]);
      const call = { toolCallId, toolName: name, arguments: input as JsonValue };
      const { hasPendingApprovals } = await worker.ask({ ...run, toolCalls: [call] }, { context: { runContext } });
      return hasPendingApprovals;
    },
    execute: async (input: unknown, runContext, details) => {
      const toolCallId = details?.toolCall?.callId ?? '';
      const { signal } = details ?? {};
      const { result, approval } = await worker.call(
        { ...run, toolCallId, toolName: name, arguments: input as JsonValue },
        { context: { runContext, ...(details === undefined ? {} : { details }) }, signal },
      );
      if (result === null) throw new NotApprovedError(toolCallId, approval?.approvalId ?? null);
      return modelOutput(result);
    },
    // By default the model would be told to try again.
    errorFunction: (_context, error) => {
      if (error instanceof NotApprovedError || error instanceof CountersignError) throw error;
      return error instanceof Error ? error.message : String(error);
    },
  });
}
