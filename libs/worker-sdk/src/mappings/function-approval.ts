import { randomUUID } from 'node:crypto';
import type { ApprovalView, JsonObject, JsonValue } from '@countersign/contracts';
import { modelNote, modelText } from '../results/model-text.js';
import type { ToolResult } from '../results/results.js';
import type { ProposedCall } from '../tools/tool-definition.js';
import { isSameJson } from '../tools/schema.js';
import { checkedAnswer, mappedResponse, MappingError, shownBy, StaleResponseError } from './answer.js';
import type { Asking, MappedResponse } from './answer.js';

/** The call of a function, as chat messages of agent frameworks have it. */
export interface FunctionCallContent {
  readonly type: 'function_call';
  readonly callId: string;
  readonly name: string;
  /** JSON, or its text as the model wrote it. */
  readonly arguments: string | Readonly<Record<string, unknown>>;
  /**
   * The response MUST have those of the request: `questionId`, `proposalDigest` and `shownDigest` say what was shown. Show `proposal`,
   * where it is an answer in place of the run, and `instructions` with the call.
   */
  readonly additionalProperties?: Readonly<Record<string, unknown>>;
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
  /** `reason`: why, where the rule requires a reason (`requireReason` of the request). */
  readonly additionalProperties?: Readonly<Record<string, unknown>>;
}

/** The result of a call for the model. `exception`: the tool failed. */
export type FunctionResultContent =
  | { readonly type: 'function_result'; readonly callId: string; readonly result: JsonValue }
  | { readonly type: 'function_result'; readonly callId: string; readonly exception: Error };

/** The call for a step of a worker. A text that is no JSON object stays a text: the step gives it a failed result. */
export function proposedCallOf({ callId, name, arguments: written }: FunctionCallContent): ProposedCall {
  const args = typeof written === 'string' ? parsed(written) : (written as JsonObject);
  return { toolCallId: callId, toolName: name, arguments: args };
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}

type Asked = Pick<ApprovalView, 'approvalId' | 'arguments' | 'shownDigest' | 'toolCallId' | 'toolName'> & {
  readonly proposal: Pick<ApprovalView['proposal'], 'digest'>;
};

/**
 * The content that asks the user. Its `id` is that of the approval, so that a later question has another one.
 * @param questionId of this content alone: an answer to it counts once, also when its message is read again after its person
 *   withdrew it. Default: a random one.
 */
export function functionApprovalRequest(
  approval: Asked & Asking,
  questionId: string = randomUUID(),
): FunctionApprovalRequestContent {
  const { approvalId, toolCallId, toolName, arguments: args } = approval;
  const functionCall = { type: 'function_call', callId: toolCallId, name: toolName, arguments: args } as const;
  const additionalProperties = { questionId, ...shownBy(approval) };
  return { type: 'function_approval_request', id: approvalId, functionCall: { ...functionCall, additionalProperties } };
}

/**
 * The response of the user to the approval that was asked about, for `client.respond(approvalId, body, { idempotencyKey })`. A
 * repeat, or a response that is found in an old message again, decides nothing, also after a withdrawal: the ledger refuses it.
 * @throws MappingError when it is about another approval, or about other arguments than those that are asked about, when it
 *   does not say what was shown, or when `approved` is no boolean.
 * @throws StaleResponseError when another proposal or instruction is asked about since.
 */
export function responseToApproval(response: FunctionApprovalResponseContent, asked: Asked): MappedResponse {
  const { id, functionCall } = response;
  const { toolCallId, toolName, arguments: args } = proposedCallOf(functionCall);
  // A client may use the id of the call for that of the question.
  const isAbout = toolCallId === asked.toolCallId && toolName === asked.toolName;
  if (!isAbout || (id !== asked.approvalId && id !== asked.toolCallId)) {
    throw new MappingError(`the response "${id}" is not about the approval ${asked.approvalId}`);
  }
  const approved = checkedAnswer(response.approved);
  const { questionId, proposalDigest, shownDigest } = shownIn(response);
  if (proposalDigest !== asked.proposal.digest || shownDigest !== asked.shownDigest) {
    throw new StaleResponseError(`the response "${id}" is about a proposal or instructions that have changed since`);
  }
  // Attack: the client sends the call back with other arguments, and the person never saw those that run.
  if (!isSameJson(args, asked.arguments)) {
    throw new MappingError(`the response "${id}" has other arguments than the approval ${asked.approvalId}`);
  }
  return mappedResponse(asked.approvalId, questionId, {
    ...{ decision: { type: approved ? 'approve' : 'deny' }, proposalDigest, shownDigest },
    ...reasonIn(response),
  });
}

function reasonIn({ additionalProperties }: FunctionApprovalResponseContent): { readonly reason?: string } {
  const reason = additionalProperties?.['reason'];
  return typeof reason === 'string' && reason !== '' ? { reason } : {};
}

/** Attack: the question changed after the person looked, or an old message with the id of the call is read again. */
function shownIn({ id, functionCall }: FunctionApprovalResponseContent) {
  const { questionId, proposalDigest, shownDigest } = functionCall.additionalProperties ?? {};
  if (typeof questionId === 'string' && typeof proposalDigest === 'string' && typeof shownDigest === 'string') {
    return { questionId, proposalDigest, shownDigest };
  }
  const remedy =
    'send back the `functionCall` of the `function_approval_request` as it is, with `additionalProperties`';
  throw new MappingError(`the response "${id}" does not say what was shown: ${remedy}`);
}

const rejected = 'Error: Tool call invocation was rejected by user.';

/** The result of a call for the model. Each call gets one: also one that was denied, blocked, expired or cancelled. */
export function functionResult(result: ToolResult): FunctionResultContent {
  const { toolCallId: callId, status, output } = result;
  if (status === 'failed') return { type: 'function_result', callId, exception: exceptionOf(modelText(result)) };
  if (status === 'denied') return { type: 'function_result', callId, result: `${rejected} ${modelText(result)}` };
  const isPlain = status === 'succeeded' && modelNote(result) === null;
  return { type: 'function_result', callId, result: isPlain ? output : modelText(result) };
}

/** A stored message has the text too: the `message` of a plain error is lost in JSON. */
function exceptionOf(message: string): Error {
  return Object.defineProperty(new Error(message), 'message', { value: message, enumerable: true });
}
