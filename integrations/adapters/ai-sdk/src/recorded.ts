import {
  isSameJson,
  modelText,
  NotApprovedError,
  resultOf,
  type JsonObject,
  type JsonValue,
  type ToolCallView,
} from '@countersign/worker-sdk';
import { outputOf, type NotedOutput } from './noted-output.js';

/** A call that has ended by the messages. A client may have written them. */
export interface ToldCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly isSuccess: boolean;
}

/** A call as the ledger records it. A call without an input was never requested. */
export type Recorded = { readonly input?: JsonObject } & (
  | { readonly status: 'succeeded'; readonly output: JsonValue | NotedOutput }
  | { readonly status: 'failed'; readonly text: string }
);

const remedy = 'Continue with messages that a client cannot change.';

/**
 * Returns the record of the call. Throws for a success that the ledger does not have.
 * Attack: the text of an error is `{"refunded":50}`. Some providers send it to the model without saying that it is an error.
 */
export function recordedOf({ toolCallId, toolName, isSuccess }: ToldCall, calls: readonly ToolCallView[]): Recorded {
  const view = calls.find((one) => one.toolCallId === toolCallId && one.toolName === toolName);
  const result = view && resultOf(view);
  const input = view && { input: view.originalArguments ?? view.arguments };
  if (result?.status === 'succeeded') return { ...input, status: 'succeeded', output: outputOf(result) };
  if (view === undefined) {
    const error = new NotApprovedError(toolCallId, null);
    if (isSuccess) throw error;
    return { status: 'failed', text: error.message };
  }
  if (isSuccess) {
    throw new Error(
      `The messages have an output of ${toolCallId}, but in Countersign the call is ${view.state}. ${remedy}`,
    );
  }
  const none = `The call ${toolCallId} has no result: in Countersign it is ${view.state}.`;
  return { ...input, status: 'failed', text: result === undefined ? none : modelText(result) };
}

/** A part of a message that names a call. */
export interface NamedPart {
  readonly toolCallId: string;
  readonly toolName: string;
}

/**
 * Throws when an id of a gated call is also that of a call of another tool.
 * Attack: a client adds a result of another tool under the id. Providers send the id to the model, not the name.
 */
export function assertOneToolForEachId(parts: readonly NamedPart[], gated: { has: (name: string) => boolean }): void {
  const names = new Map<string, string>();
  for (const { toolCallId, toolName } of parts) {
    const name = names.get(toolCallId) ?? toolName;
    names.set(toolCallId, name);
    if (name !== toolName && (gated.has(name) || gated.has(toolName))) {
      throw new Error(`The messages have ${toolCallId} as a call of ${name} and of ${toolName}. ${remedy}`);
    }
  }
}

/** Attack: a client gives two calls the same approval, and the denial of one is told to the model as that of the other. */
export function assertOneCallForEachApproval(
  approvals: readonly (readonly [approvalId: string, toolCallId: string])[],
): void {
  const calls = new Map(approvals);
  const other = approvals.find(([approvalId, toolCallId]) => calls.get(approvalId) !== toolCallId);
  if (other !== undefined) throw new Error(`The messages have the approval ${other[0]} for several calls. ${remedy}`);
}

/** The part with the recorded input; the same part when it has that input already. */
export function withInput<P extends { readonly input?: unknown }>(part: P, { input }: Recorded): P {
  return input === undefined || isSameJson(input, part.input) ? part : { ...part, input };
}
