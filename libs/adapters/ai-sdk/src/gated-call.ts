import {
  assertRequested,
  didNotRun,
  modelNote,
  modelText,
  NotApprovedError,
  resultOf,
  type JsonObject,
  type JsonValue,
  type Step,
  type StepOutcome,
  type ToolCallView,
  type ToolResult,
  type WaitOptions,
  type Worker,
} from '@countersign/worker-sdk';
import type { ModelMessage, ToolApprovalStatus } from 'ai';
import type { FrameworkOptions } from './gate-tool-of.js';

/** The output of a call about which the model must know more: the edited arguments, a person's answer, an instruction. */
export interface NotedOutput {
  readonly output: JsonValue;
  readonly note: string;
}

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
  /**
   * The records of calls that succeeded by the messages. Throws for a call of which the ledger does not say so: the model
   * would be told an effect that there was not.
   */
  readonly ended: (calls: readonly NamedCall[], signal?: AbortSignal) => Promise<ReadonlyMap<string, EndedCall>>;
  readonly cancel: (callId: string, reason: string) => Promise<void>;
}

export type NamedCall = Pick<MessageCall, 'toolCallId' | 'toolName'>;

/** A call that succeeded, as the framework has it. */
export interface EndedCall {
  readonly input: JsonObject;
  readonly output: JsonValue | NotedOutput;
}

export function createCalls(
  worker: Worker<FrameworkOptions>,
  run: Pick<Step, 'runId' | 'parentCallId' | 'onBehalfOf'>,
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
    return worker.ask({ ...run, toolCalls: calls.map(proposed) }, limits);
  };

  return {
    look,
    ended: async (told, signal) => {
      if (told.length === 0) return new Map();
      const { calls } = await worker.client.getRun(run.runId, { signal });
      return new Map(told.map((call) => [call.toolCallId, endedCall(call, calls)]));
    },
    cancel: worker.cancel,
    approval: (toolName) => async (input, options) => {
      const { toolCallId, messages } = options;
      const call = { toolCallId, toolName, input };
      const isResumed = isInHistory(messages, toolCallId);
      const context = { context: { ...options, context: undefined } };
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
      if (isInHistory(messages, toolCallId)) await assertRequested(worker, run.runId, [toolCallId], abortSignal);
      const { result, approval } = await worker.call(
        { ...run, messages, ...proposed({ toolCallId, toolName, input }) },
        { context: options, signal: abortSignal },
      );
      if (result === null) throw new NotApprovedError(toolCallId, approval?.approvalId ?? null);
      return outputOf(result);
    },
  };
}

function endedCall({ toolCallId, toolName }: NamedCall, calls: readonly ToolCallView[]): EndedCall {
  const view = calls.find((one) => one.toolCallId === toolCallId && one.toolName === toolName);
  if (view === undefined) throw new NotApprovedError(toolCallId, null);
  const result = resultOf(view);
  if (result?.status === 'succeeded') {
    return { input: view.originalArguments ?? view.arguments, output: outputOf(result) };
  }
  throw new Error(
    `The messages have an output of ${toolCallId}, but in Countersign the call is ${view.state}. Continue with messages that a client cannot change.`,
  );
}

/** Throws unless the call succeeded: the framework tells the model the message as the tool's error. */
export function outputOf(result: ToolResult): JsonValue | NotedOutput {
  if (result.status !== 'succeeded') throw new Error(modelText(result));
  const note = modelNote(result);
  return note === null ? result.output : { output: result.output, note };
}

/** Only on resume: the messages of a new call end before it. */
function isInHistory(messages: readonly ModelMessage[], toolCallId: string): boolean {
  return messages.some(
    ({ role, content }) =>
      role === 'assistant' &&
      typeof content !== 'string' &&
      content.some((part) => part.type === 'tool-call' && part.toolCallId === toolCallId),
  );
}
