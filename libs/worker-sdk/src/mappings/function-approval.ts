import type { ApprovalView, JsonObject, JsonValue, ToolCallView } from '@countersign/contracts';
import { modelNote, modelText } from '../results/model-text.js';
import type { ToolResult } from '../results/results.js';
import type { ProposedCall } from '../tools/tool-definition.js';
import { isJsonObject, isSameJson } from '../tools/schema.js';
import { checkedAnswer, isRecorded, mappedResponse } from './answer.js';
import type { MappedResponse } from './answer.js';
import { MappingError, StaleResponseError } from './mapping-error.js';
import { checkPerson, checkSender, checkSignIn, isOwn, questionOf, shownTo } from './question.js';
import type { Answering, Asking, Question } from './question.js';

/** The call of a function, as chat messages of agent frameworks have it. */
export interface FunctionCallContent {
  readonly type: 'function_call';
  readonly callId: string;
  readonly name: string;
  /** JSON, or its text as the model wrote it. */
  readonly arguments: string | Readonly<Record<string, unknown>>;
  /**
   * The response MUST have those of the request, which say what was shown to whom (`Shown`). Show `proposal`, where it is an answer in
   * place of the run, `labels` and `instructions` with the call, and for comfort what the agent says of it: `title`, `description`
   * (such as its `approvalPrompt`) and `reason`.
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

type Asked = Pick<ApprovalView, 'arguments' | 'toolCallId' | 'toolName'> & Asking;

/** What the request says of the call besides. */
type Described = Pick<ApprovalView, 'description' | 'reason' | 'title'>;

/**
 * The content that asks a person, who alone can answer it. Its `id` is that of the approval.
 * @param approval as the client of the person reads it: with masks where the person must not see a value.
 * @param person their principal: `(await user.getMe()).principal`.
 * @param others the other calls of `batch` where its mode is `all-or-nothing`, in their order, read by the same client. The answer is
 *   then one to all that they propose.
 */
export function functionApprovalRequest(
  approval: Asked & Described,
  person: string,
  others: readonly ToolCallView[] = [],
): FunctionApprovalRequestContent {
  const { approvalId, toolCallId, toolName, arguments: args, title, description, reason } = approval;
  const functionCall = { type: 'function_call', callId: toolCallId, name: toolName, arguments: args } as const;
  const additionalProperties = { ...shownTo(person, approval, others), title, description, reason };
  return { type: 'function_approval_request', id: approvalId, functionCall: { ...functionCall, additionalProperties } };
}

/**
 * The response of the user to the approval that was asked about, for `client.respond(approvalId, body, { idempotencyKey })`. A
 * repeat decides nothing, also after a withdrawal: the ledger refuses it. Pass the contents of each message once: a "yes" that was refused
 * for a missing group would count later in the same sign-in, when the person may answer.
 * @param asked the approval as it is now, read by the same client as for the request.
 * @param answering who is signed in, and who sent the message in which sign-in.
 * @param others as for the request, as they are now.
 * @throws MappingError when it is about another approval, or about other arguments than those that are asked about, when it
 *   does not say what was shown to whom, or when `approved` is no boolean.
 * @throws OtherPersonError when another person sent the message, or the question was made for another person.
 * @throws OtherSignInError for a "yes" that was given in another sign-in.
 * @throws StaleResponseError when another question is asked since, or one of `others` proposes something else; for a denial, when
 *   something else is proposed.
 */
export function responseToApproval(
  response: FunctionApprovalResponseContent,
  asked: Asked,
  answering: Answering,
  others: readonly ToolCallView[] = [],
): MappedResponse {
  const { id, functionCall } = response;
  checkSender(answering, `the response "${id}"`);
  if (!isJsonObject(functionCall)) throw notShown(id);
  const { approvalId, toolCallId, toolName } = asked;
  const { toolCallId: callId, toolName: name, arguments: args } = proposedCallOf(functionCall);
  // A client may use the id of the call for that of the question.
  if (callId !== toolCallId || name !== toolName || (id !== approvalId && id !== toolCallId)) {
    throw new MappingError(`the response "${id}" is not about the approval ${approvalId}`);
  }
  const approved = checkedAnswer(response.approved);
  if (approved) checkSignIn(answering, `the response "${id}"`);
  const question = questionIn(response, asked, answering.person, others);
  // Attack: the client sends the call back with other arguments, and the person never saw those that run.
  if (!isSameJson(args, asked.arguments)) {
    throw new MappingError(`the response "${id}" has other arguments than the approval ${approvalId}`);
  }
  const decision = { type: approved ? 'approve' : 'deny' } as const;
  return mappedResponse({ approvalId, ...question }, { decision, ...reasonIn(response) });
}

/**
 * Whether the answer of a content is recorded and stands, whatever is asked since or in which sign-in its message is read again: a repeat,
 * and no refusal. Ask it when `responseToApproval` throws: an answer that it takes is judged by the ledger.
 * @param asked the approval as it is now, read by the client of the person.
 * @throws MappingError when `approved` is no boolean.
 */
export function isRecordedContent(
  response: FunctionApprovalResponseContent,
  asked: Pick<ApprovalView, 'approvalId' | 'instructions' | 'responses'> & Pick<Asked, 'proposal' | 'toolCallId'>,
  { person, sentBy }: Pick<Answering, 'person' | 'sentBy'>,
): boolean {
  const { id, functionCall } = response;
  const approved = checkedAnswer(response.approved);
  const shown: unknown = isJsonObject(functionCall) ? functionCall.additionalProperties : undefined;
  if (!isJsonObject(shown) || !isOwn({ person, sentBy }, shown['person'])) return false;
  if (id !== asked.approvalId && id !== asked.toolCallId) return false;
  // A "yes" to another proposal is not the one that stands. A "no" goes on, where somebody edited what it refused.
  if (approved && shown['proposalDigest'] !== asked.proposal.digest) return false;
  const decision = { type: approved ? 'approve' : 'deny' } as const;
  return isRecorded(asked, person, { body: { decision, ...reasonIn(response) } });
}

function reasonIn({ additionalProperties }: FunctionApprovalResponseContent): { readonly reason?: string } {
  const reason = additionalProperties?.['reason'];
  return typeof reason === 'string' && reason !== '' ? { reason } : {};
}

function notShown(id: string): MappingError {
  const remedy =
    'send back the `functionCall` of the `function_approval_request` as it is, with `additionalProperties`';
  return new MappingError(`the response "${id}" does not say what was shown: ${remedy}`);
}

/** Attack: the question changed after the person looked, or an old message, or that of another person, is read again. */
function questionIn(
  { id, functionCall, approved }: FunctionApprovalResponseContent,
  asked: Asked,
  person: string,
  others: readonly ToolCallView[],
): Question {
  const {
    questionId,
    denialId,
    person: madeFor,
    proposalDigest,
    shownDigest,
  } = functionCall.additionalProperties ?? {};
  if (typeof questionId !== 'string' || typeof proposalDigest !== 'string' || typeof shownDigest !== 'string') {
    throw notShown(id);
  }
  checkPerson(madeFor, person, `the question of the response "${id}"`);
  const current = questionOf(person, asked, others);
  const isShown = questionId === current.questionId && shownDigest === asked.shownDigest;
  const isCurrent = approved ? isShown : denialId === current.denialId;
  if (!isCurrent || proposalDigest !== asked.proposal.digest) {
    throw new StaleResponseError(`the response "${id}" is to an earlier question: look at the current one`);
  }
  return { ...current, questionId };
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
