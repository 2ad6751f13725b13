import {
  assertRequested,
  didNotRun,
  isRefusal,
  isSameJson,
  modelText,
  NotApprovedError,
  type CallEnd,
  type GateTool,
  type JsonValue,
  type Step,
  type StepOutcome,
  type ToolCallView,
  type WaitOptions,
  type Worker,
} from '@countersign/worker-sdk';
import type { ModelMessage, ToolApprovalStatus } from 'ai';
import type { FrameworkOptions } from './gate-tool-of.js';
import { outputOf } from './noted-output.js';
import { recordedOf, type Recorded, type ToldCall } from './recorded.js';

/** A call as the messages have it. */
export interface MessageCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

/** The framework asks it before it runs a call, and once more when it resumes. */
export type Approval = (
  input: unknown,
  options: Pick<FrameworkOptions, 'toolCallId' | 'messages'>,
) => Promise<ToolApprovalStatus>;

/** The calls of one run, asked for and run through the ledger. */
export interface Calls {
  readonly approval: (toolName: string) => Approval;
  readonly execute: (toolName: string) => (input: unknown, options: FrameworkOptions) => Promise<unknown>;
  /** Where calls of the messages stand; each of them must have been requested before. */
  readonly look: (calls: readonly MessageCall[], limits?: WaitOptions<FrameworkOptions>) => Promise<StepOutcome>;
  /** The records of calls that have ended by the messages. Throws for a success that the ledger does not have. */
  readonly recorded: (calls: readonly ToldCall[], signal?: AbortSignal) => Promise<ReadonlyMap<string, Recorded>>;
  /** Returns false for a call that has begun or ended: it cannot be cancelled any more. */
  readonly cancel: (callId: string, reason: string) => Promise<boolean>;
  /** Runs the call, or waits for its result where it has begun already, until the signal aborts. */
  readonly end: (call: MessageCall, signal?: AbortSignal) => Promise<CallEnd>;
  /** Returns whether the framework would run the call: it takes no input that its schema refuses or changes. */
  readonly isValid: (call: MessageCall) => Promise<boolean>;
}

export function createCalls(
  worker: Worker<FrameworkOptions>,
  run: Pick<Step, 'runId' | 'parentCallId' | 'onBehalfOf'>,
  tools: readonly GateTool<FrameworkOptions>[],
  runSignal?: AbortSignal,
): Calls {
  const proposed = ({ toolCallId, toolName, input }: MessageCall) =>
    ({ toolCallId, toolName, arguments: input as JsonValue }) as const;

  const look: Calls['look'] = async (calls, limits = {}) => {
    await assertRequested(
      worker,
      run.runId,
      calls.map(({ toolCallId }) => toolCallId),
      limits.signal,
    );
    // Messages may have a call twice, and a request may not.
    const once = new Map(calls.map((call) => [call.toolCallId, proposed(call)]));
    return worker.ask({ ...run, toolCalls: [...once.values()] }, limits);
  };

  return {
    look,
    recorded: async (told, signal) => {
      if (told.length === 0) return new Map();
      const { calls } = await worker.client.getRun(run.runId, { signal }).catch(noRun);
      return new Map(told.map((call) => [call.toolCallId, recordedOf(call, calls)]));
    },
    cancel: async (callId, reason) => {
      try {
        await worker.cancel(callId, reason);
        return true;
      } catch (error) {
        if (isRefusal(error, 'already-claimed', 'already-settled', 'already-resolved')) return false;
        throw error;
      }
    },
    end: (call, signal) => worker.call({ ...run, ...proposed(call) }, { signal }),
    isValid: async ({ toolName, input }) => {
      const checked = await tools.find(({ name }) => name === toolName)?.check(input as JsonValue);
      return checked?.valid === true && isSameJson(checked.arguments, input);
    },
    approval: (toolName) => async (input, options) => {
      const { toolCallId, messages } = options;
      const call = { toolCallId, toolName, input };
      const isResumed = isInHistory(messages, call);
      const context = { context: { ...options, context: undefined }, signal: runSignal };
      const { pendingApprovals, results } = isResumed
        ? await look([call], context)
        : await worker.ask({ ...run, messages, toolCalls: [proposed(call)] }, context);
      const [approval] = pendingApprovals;
      // The framework has an "approved" that the ledger does not have. An error in the tool would spoil the history.
      if (approval !== undefined && isResumed) throw new NotApprovedError(toolCallId, approval.approvalId);
      if (approval !== undefined) {
        const reason = approval.reason ?? approval.description;
        return { type: 'user-approval', ...(reason === null ? {} : { reason }) };
      }
      const [result] = results;
      return result !== undefined && didNotRun(result)
        ? { type: 'denied', reason: modelText(result) }
        : 'not-applicable';
    },
    execute: (toolName) => async (input, options) => {
      const { toolCallId, messages, abortSignal } = options;
      const call = { toolCallId, toolName, input };
      if (isInHistory(messages, call)) await assertRequested(worker, run.runId, [toolCallId], abortSignal);
      const { result, approval } = await worker.call(
        { ...run, messages, ...proposed(call) },
        { context: options, signal: abortSignal },
      );
      if (result === null) throw new NotApprovedError(toolCallId, approval?.approvalId ?? null);
      return outputOf(result);
    },
  };
}

/** The ledger knows no run without calls. */
function noRun(error: unknown): { readonly calls: readonly ToolCallView[] } {
  if (!isRefusal(error, 'not-found')) throw error;
  return { calls: [] };
}

/** Only on resume: the messages of a new call end before it. Throws when the id is that of a call of another tool. */
function isInHistory(messages: readonly ModelMessage[], { toolCallId, toolName }: MessageCall): boolean {
  const names = messages.flatMap(({ role, content }) =>
    role !== 'assistant' || typeof content === 'string'
      ? []
      : content.flatMap((part) => (part.type === 'tool-call' && part.toolCallId === toolCallId ? part.toolName : [])),
  );
  const other = names.find((name) => name !== toolName);
  if (other === undefined) return names.length > 0;
  const why = `The call ${toolCallId} did not run: in the messages its id is also that of a call of ${other}.`;
  throw new Error(`${why} Ids of calls must be unique within a run.`);
}
