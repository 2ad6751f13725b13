import {
  createWorker,
  modelOutput,
  type ApprovalView,
  type FrameworkGate,
  type JsonValue,
  type Step,
  type WaitOptions,
  type Worker,
  type WorkerOptions,
} from '@countersign/worker-sdk';
import { createTool, type Tool } from '@mastra/core/tools';
import type { z } from 'zod';
import type { FrameworkContext, GatedTool } from './gated-tool.js';

/** The payload of the suspension of a call that waits for people. It is for showing. */
export interface Suspension {
  readonly approvalId: string;
  readonly toolCallId: string;
  readonly actionDigest: string;
  readonly description: string | null;
  readonly expiresAt: string | null;
}

/** One run of the agents. */
export interface GatedRun {
  /** By their ids, for `new Agent({ tools })`; also for agents that others use as a tool. */
  readonly tools: Readonly<Record<string, Tool>>;
  /**
   * The approvals of the run that are pending in the ledger, after waiting up to `timeoutMs` (default: not at all) until
   * there are none.
   */
  readonly pending: (limits?: Omit<WaitOptions, 'context'>) => Promise<readonly ApprovalView[]>;
}

/** The gate of one agent. */
export type Gate = FrameworkGate<GatedRun, FrameworkContext>;

/**
 * Puts tools of Mastra behind Countersign. A call that waits for people suspends its run. Resume it with any data: the tool
 * asks the ledger, and runs or suspends again.
 *
 * @example
 * const gate = gateTools({ url: 'http://127.0.0.1:7400', token: process.env['COUNTERSIGN_TOKEN'] ?? '', agentId: 'support' }, [
 *   refund,
 * ]);
 */
export function gateTools(options: Omit<WorkerOptions<FrameworkContext>, 'tools'>, tools: readonly GatedTool[]): Gate {
  const worker = createWorker<FrameworkContext>({ ...options, tools: tools.map(({ gate }) => gate) });
  return {
    run: (runId, more = {}) => ({
      tools: Object.fromEntries(tools.map((one) => [one.id, frameworkTool(worker, { ...more, runId }, one)])),
      pending: (limits) => worker.pending(runId, limits),
    }),
    worker,
    close: () => worker.close(),
  };
}

function frameworkTool(
  worker: Worker<FrameworkContext>,
  run: Pick<Step, 'runId' | 'parentCallId' | 'onBehalfOf'>,
  { id, description, inputSchema }: GatedTool,
): Tool {
  const execute = async (input: unknown, context: FrameworkContext): Promise<JsonValue | undefined> => {
    const { agent, abortSignal: signal } = context;
    if (agent === undefined) throw new Error(`${id} is behind Countersign, so only an agent can call it`);
    const { result, approval } = await worker.call(
      { ...run, toolCallId: agent.toolCallId, toolName: id, arguments: input as JsonValue },
      { context, signal },
    );
    // The framework tells the model the message of an error.
    if (result !== null) return modelOutput(result);
    // The resume data decides nothing: the tool is called again, and asks the ledger again.
    await agent.suspend(approval === null ? undefined : suspensionOf(approval));
    return undefined;
  };
  return createTool({ id, description, inputSchema: inputSchema as z.ZodObject, execute }) as unknown as Tool;
}

function suspensionOf({ approvalId, toolCallId, actionDigest, description, expiresAt }: ApprovalView): Suspension {
  return { approvalId, toolCallId, actionDigest, description, expiresAt };
}
