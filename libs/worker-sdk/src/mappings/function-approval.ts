import type { ApprovalView, JsonObject, JsonValue } from '@countersign/contracts';
import { modelNote, modelText } from '../results/model-text.js';
import type { ToolResult } from '../results/results.js';
import { boundBy } from '../results/question.js';
import type { Bound } from '../results/question.js';
import type { ProposedCall } from '../tools/tool-definition.js';
import { isSameJson } from '../tools/schema.js';
import { MappingError } from './answer.js';
import type { MappedResponse } from './answer.js';

/** The call of a function, as chat messages of agent frameworks have it. */
export interface FunctionCallContent {
  readonly type: 'function_call';
  readonly callId: string;
  readonly name: string;
  /** JSON, or its text as the model wrote it. */
  readonly arguments: string | JsonObject;
  /**
   * The response MUST have those of the request: `proposalDigest` and `shownDigest` say what was shown. Show `proposal`, where it is an
   * answer in place of the run, and `instructions` with the call.
   */
  readonly additionalProperties?: JsonObject;
}

/** Asks the user for a call. */
export interface FunctionApprovalRequestContent {
  readonly type: 'function_approval_request';
  readonly id: string;
  readonly functionCall: FunctionCallContent;
}

/** The answer of the user. */
export interface FunctionApprovalResponseContent {
  readonly type: 'function_approval_response';
  readonly id: string;
  readonly functionCall: FunctionCallContent;
  readonly approved: boolean;
}

/** The result of a call for the model. `exception`: the tool failed. */
export type FunctionResultContent =
  | { readonly type: 'function_result'; readonly callId: string; readonly result: JsonValue }
  | { readonly type: 'function_result'; readonly callId: string; readonly exception: Error };

/** The call for a step of a worker. A text that is no JSON object stays a text: the step gives it a failed result. */
export function proposedCallOf({ callId, name, arguments: written }: FunctionCallContent): ProposedCall {
  return { toolCallId: callId, toolName: name, arguments: typeof written === 'string' ? parsed(written) : written };
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}

type Asked = Pick<ApprovalView, 'approvalId' | 'arguments' | 'toolCallId' | 'toolName'>;

/** The content that asks the user. Its `id` is that of the approval, so that a later question has another one. */
export function functionApprovalRequest(
  approval: Asked & Parameters<typeof boundBy>[0],
): FunctionApprovalRequestContent {
  const { approvalId, toolCallId, toolName, arguments: args } = approval;
  const additionalProperties = jsonOf(boundBy(approval));
  const functionCall = { type: 'function_call', callId: toolCallId, name: toolName, arguments: args } as const;
  return {
    type: 'function_approval_request',
    id: approvalId,
    functionCall: { ...functionCall, additionalProperties },
  };
}

/**
 * The response of the user to the approval that was asked about, for `client.respond`. A repeat, or a response that is found
 * in an old message again, decides nothing: the ledger refuses it.
 * @throws MappingError when it is about another approval, or about other arguments than those that are asked about, or when it
 *   does not say what was shown.
 */
export function responseToApproval(
  { id, functionCall, approved }: FunctionApprovalResponseContent,
  asked: Asked,
): MappedResponse {
  const { toolCallId, toolName, arguments: args } = proposedCallOf(functionCall);
  // A client may use the id of the call for that of the question.
  const isAbout = toolCallId === asked.toolCallId && toolName === asked.toolName;
  if (!isAbout || (id !== asked.approvalId && id !== asked.toolCallId)) {
    throw new MappingError(`the response "${id}" is not about the approval ${asked.approvalId}`);
  }
  // Attack: the client sends the call back with other arguments, and the person never saw those that run.
  if (!isSameJson(args, asked.arguments)) {
    throw new MappingError(`the response "${id}" has other arguments than the approval ${asked.approvalId}`);
  }
  const { proposalDigest, shownDigest } = functionCall.additionalProperties ?? {};
  // Attack: the question changed after the person looked, or an old message with the id of the call is read again.
  if (typeof proposalDigest !== 'string' || typeof shownDigest !== 'string') {
    const remedy =
      'send back the `functionCall` of the `function_approval_request` as it is, with `additionalProperties`';
    throw new MappingError(`the response "${id}" does not say what was shown: ${remedy}`);
  }
  return {
    approvalId: asked.approvalId,
    body: { decision: { type: approved ? 'approve' : 'deny' }, proposalDigest, shownDigest },
  };
}

/** As a message carries it: without members that are absent. */
function jsonOf(value: Bound): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

const rejected = 'Error: Tool call invocation was rejected by user.';

/** The result of a call for the model. Each call gets one: also one that was denied, blocked, expired or cancelled. */
export function functionResult(result: ToolResult): FunctionResultContent {
  const { toolCallId: callId, status, output } = result;
  if (status === 'failed') return { type: 'function_result', callId, exception: new Error(modelText(result)) };
  if (status === 'denied') return { type: 'function_result', callId, result: `${rejected} ${modelText(result)}` };
  const isPlain = status === 'succeeded' && modelNote(result) === null;
  return { type: 'function_result', callId, result: isPlain ? output : modelText(result) };
}
