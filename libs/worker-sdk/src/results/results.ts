import {
  deniedInCode,
  isBlank,
  isSettled,
  type JsonObject,
  type JsonValue,
  type ResponseView,
  type ToolCallState,
  type ToolCallView,
} from '@countersign/contracts';
import type { LocalFailure } from '../state.js';

const statuses = ['succeeded', 'failed', 'denied', 'blocked', 'expired', 'cancelled', 'unknown'] as const;

/** The one result that every tool call gets. */
export interface ToolResult {
  readonly toolCallId: string;
  readonly toolName: string;
  /** Null for a call that was never requested (invalid arguments, unknown tool). */
  readonly callId: string | null;
  readonly status: ToolResultStatus;
  /** The tool's output, or a person's answer instead; null unless `succeeded`. */
  readonly output: JsonValue;
  /** The error, with a `code`; null unless `failed`. */
  readonly error: JsonValue;
  /** Why it did not run; for a denial the approver's words. Null when it did. */
  readonly reason: string | null;
  /** One sentence for the model in addition to the output; null when the output is enough. */
  readonly message: string | null;
  /** An approver's instruction to the agent for afterwards. */
  readonly instruction: string | null;
  /** An approver replaced the arguments: `arguments` are those that ran. */
  readonly edited: boolean;
  /** A person gave the output, and the tool did not run. */
  readonly answered: boolean;
  /** The arguments that ran or would have; null for a call that was never requested. */
  readonly arguments: JsonObject | null;
  /** The people (or the rule) that decided: those whose votes count. */
  readonly decidedBy: readonly string[];
}

/** How a call ended. Only `succeeded` is a success. */
export type ToolResultStatus = (typeof statuses)[number];

/** The result of a call that was never requested: there was no approval and no run. */
export function resultOfFailure(
  { toolCallId, toolName }: { readonly toolCallId: string; readonly toolName: string },
  { code, message }: LocalFailure,
): ToolResult {
  return {
    toolCallId,
    toolName,
    callId: null,
    status: 'failed',
    output: null,
    error: { code, message },
    reason: message,
    message,
    instruction: null,
    edited: false,
    answered: false,
    arguments: null,
    decidedBy: [],
  };
}

/** The result of a requested call; undefined while there is none. */
export function resultOf(call: ToolCallView): ToolResult | undefined {
  const status = statusOf(call.state);
  if (status === undefined) return undefined;
  const { approval } = call;
  const votes = status === 'denied' ? votesOf(call, 'deny') : votesOf(call, 'approve', 'edit', 'answer');
  const edited = call.originalArguments !== undefined;
  const answered = status === 'succeeded' && approval?.proposal.kind === 'answer';
  const reason = reasonOf(call, status, votes);
  return {
    toolCallId: call.toolCallId,
    toolName: call.toolName,
    callId: call.callId,
    status,
    output: status === 'succeeded' ? call.output : null,
    error: status === 'failed' ? call.error : null,
    reason,
    message: reason === null ? successMessage(edited, answered) : failureMessage(call, status, reason, votes),
    instruction: call.instruction,
    edited,
    answered,
    arguments: call.arguments,
    decidedBy: votes.map((vote) => vote.respondedBy),
  };
}

/** A state that a newer server added is not settled, as far as this worker can know. */
function statusOf(state: ToolCallState): ToolResultStatus | undefined {
  return isSettled(state) ? statuses.find((status) => status === state) : undefined;
}

function votesOf(call: ToolCallView, ...types: readonly string[]): readonly ResponseView[] {
  return call.approval?.responses.filter(({ counted, decision }) => counted && types.includes(decision.type)) ?? [];
}

function reasonOf(call: ToolCallView, status: ToolResultStatus, votes: readonly ResponseView[]): string | null {
  switch (status) {
    case 'succeeded':
      return null;
    case 'failed':
      return errorMessage(call.error) ?? 'the tool failed';
    case 'denied':
      return votes.findLast((vote) => !isBlank(vote.reason ?? ''))?.reason ?? 'User denied';
    case 'blocked':
      return (
        (isDeniedInCode(call) ? call.verdict.why.at(-1) : call.verdict.why.join('; ')) || `rule ${call.verdict.ruleId}`
      );
    case 'expired':
      return call.approval?.state === 'approved' ? 'it was approved but not run in time' : 'no person answered in time';
    case 'cancelled':
      return errorMessage(call.error) ?? 'it was cancelled';
    case 'unknown':
      return 'it was started and never reported back';
  }
}

function errorMessage(error: JsonValue): string | null {
  if (error === null) return null;
  const words = typeof error === 'object' && 'message' in error ? error.message : error;
  // An empty text would be read as the output of a tool that worked.
  if (typeof words === 'string') return isBlank(words) ? null : words;
  return JSON.stringify(error);
}

function successMessage(edited: boolean, answered: boolean): string | null {
  if (answered) return 'A person gave this output; the tool did not run.';
  return edited ? 'An approver changed the arguments before it ran; these are the ones it ran with.' : null;
}

/** Returns whether the agent's own code denied the call, and not the policy. */
function isDeniedInCode({ verdict }: ToolCallView): boolean {
  return verdict.ruleId === deniedInCode;
}

function failureMessage(
  call: ToolCallView,
  status: ToolResultStatus,
  reason: string,
  votes: readonly ResponseView[],
): string {
  switch (status) {
    case 'denied': {
      const by = votes.length === 0 ? '' : ` by ${votes.map((vote) => vote.respondedBy).join(', ')}`;
      return `The call was denied${by} and did not run: ${reason}`;
    }
    case 'blocked':
      return isDeniedInCode(call)
        ? `The call was denied and did not run: ${reason}`
        : `The policy does not allow this call, it did not run: ${reason}`;
    case 'expired':
      return `The call did not run: ${reason}. It may be asked for again.`;
    case 'cancelled':
      return `The call was cancelled before it ran: ${reason}`;
    case 'unknown':
      return 'The tool was started and its outcome is not known. It may or may not have taken effect; it is not run again.';
    case 'failed':
    case 'succeeded':
      return reason;
  }
}
