import {
  askedCall,
  createWorker,
  modelOutput,
  questionText,
  type ApprovalView,
  type AskedCall,
  type FrameworkGate,
  type JsonValue,
  type Step,
  type WaitOptions,
  type Worker,
  type WorkerLog,
  type WorkerOptions,
} from '@countersign/worker-sdk';
import { createTool, validateToolInput, type Tool, type ToolStream } from '@mastra/core/tools';
import type { z } from 'zod';
import type { FrameworkContext, GatedTool } from './gated-tool.js';

/** The payload of the suspension of a call that could not ask Countersign. It is for showing. */
export interface Failure {
  readonly toolCallId: string;
  readonly error: string;
}

/** The payload of the suspension of a call that waits for people. It is for showing. */
export interface Suspension extends AskedCall {
  readonly approvalId: string;
  readonly toolCallId: string;
  /** The agent's own words about its request. */
  readonly description: string | null;
  /** What is asked now, with an edit, an answer in place of the run, and the instructions. */
  readonly question: string;
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
 * asks the ledger, and runs or suspends again. When Countersign refuses or does not answer, the run fails with
 * that error, which is logged too (default: to the console), and stays suspended.
 *
 * @example
 * const gate = gateTools({ url: 'http://127.0.0.1:7400', token: process.env['COUNTERSIGN_TOKEN'] ?? '', agentId: 'support' }, [
 *   refund,
 * ]);
 */
export function gateTools(options: Omit<WorkerOptions<FrameworkContext>, 'tools'>, tools: readonly GatedTool[]): Gate {
  const worker = createWorker<FrameworkContext>({ ...options, tools: tools.map(({ gate }) => gate) });
  const gate = { worker, log: options.log ?? console };
  return {
    run: (runId, more = {}) => ({
      tools: Object.fromEntries(tools.map((one) => [one.id, frameworkTool(gate, { ...more, runId }, one)])),
      pending: (limits) => worker.pending(runId, limits),
    }),
    worker,
    close: () => worker.close(),
  };
}

/** The run that the tools are for. */
type Run = Pick<Step, 'runId' | 'parentCallId' | 'onBehalfOf'>;

/** The parts that the tools of a gate share. */
interface Parts {
  readonly worker: Worker<FrameworkContext>;
  readonly log: Pick<WorkerLog, 'error'>;
}

function frameworkTool({ worker, log }: Parts, run: Run, { id, description, inputSchema, framework }: GatedTool): Tool {
  const execute = async (input: unknown, context: FrameworkContext): Promise<JsonValue | undefined> => {
    const { agent, abortSignal: signal } = context;
    if (agent === undefined) throw new Error(`${id} is behind Countersign, so only an agent can call it`);
    const { toolCallId } = agent;
    // On a resume the framework passes the arguments as the model wrote them.
    const parsed: unknown = isNullish(agent.resumeData)
      ? input
      : (validateToolInput(tool.inputSchema, input).data ?? input);
    const [args, rawArguments] = [parsed, input] as [JsonValue, JsonValue];
    const call = { ...run, toolCallId, toolName: id, arguments: args, rawArguments };
    const end = await worker.call(call, { context, signal }).catch(async (error: unknown) => {
      if (signal?.aborted === true) throw error;
      log.error({ runId: run.runId, toolCallId, error: messageOf(error) }, 'the call has no result');
      if (context.writer === undefined) throw error;
      await failRun(context.writer, run.runId, error);
      return { result: null, failure: { toolCallId, error: messageOf(error) } satisfies Failure };
    });
    // The framework tells the model the message of an error.
    if (end.result !== null) return modelOutput(end.result);
    // The resume data decides nothing: the tool is called again, and asks the ledger again.
    await agent.suspend('failure' in end ? end.failure : suspensionOf(end.approval));
    return undefined;
  };
  const options = { ...framework, id, description, inputSchema: inputSchema as z.ZodObject, execute };
  const tool = createTool(options) as unknown as Tool;
  return tool;
}

function isNullish(value: unknown): boolean {
  return value === undefined || value === null;
}

/**
 * Puts an error into the stream of the run, and `generate` throws it. An error that a tool throws would reach the model
 * alone, and the run would succeed.
 */
async function failRun(writer: ToolStream, runId: string, error: unknown): Promise<void> {
  await writer.custom({ type: 'error', runId, from: 'AGENT', payload: { error } });
}

function suspensionOf(approval: ApprovalView | null): Suspension | undefined {
  if (approval === null) return undefined;
  const { approvalId, toolCallId, description, expiresAt } = approval;
  const asked = askedCall(approval);
  const question = questionText({ description, ...asked });
  return { approvalId, toolCallId, ...asked, description, question, expiresAt };
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
