import type { ApprovalView, JsonObject, JsonValue } from '@countersign/contracts';
import { inCode, nameWords } from '@countersign/text';
import { questionText } from '../results/question.js';
import { isJsonObject, isSameJson } from '../tools/schema.js';
import { checkedAnswer, isRecorded, mappedResponse } from './answer.js';
import type { MappedResponse } from './answer.js';
import { MappingError, StaleResponseError } from './mapping-error.js';
import { checkSender, checkSignIn, isOwn, questionOf, shownTo } from './question.js';
import type { Answering, Asking, Question, Shown } from './question.js';

/** The payload of a tool approval between a workflow engine and its application. */
export interface ToolApproval {
  readonly toolName: string;
  readonly toolDescription: string;
  readonly toolParameters: JsonObject;
  readonly approved: boolean;
  readonly editedParameters?: JsonObject | null | undefined;
  readonly userInstruction?: string | undefined;
}

/** Asks the application to show its dialog. */
export interface UserInteractionRequested {
  readonly type: 'USER_INTERACTION_REQUESTED';
  /** Epoch milliseconds. */
  readonly timestamp: number;
  readonly workflowId: string;
  readonly threadId: string;
  readonly nodeId: string;
  readonly interactionId: string;
  readonly operationType: 'TOOL_APPROVAL';
  readonly prompt: string;
  /** Milliseconds until the deadline; null: there is none. */
  readonly timeout: number | null;
  /** `toolApproval`, the approval, and what a response is bound to. */
  readonly metadata: Shown & { readonly toolApproval: ToolApproval; readonly approvalId: string };
}

/** The answer of the application's user. */
export interface UserInteractionResponded {
  /** `USER_INTERACTION_RESPONDED`, also as a member of an enum. */
  readonly type?: string;
  readonly interactionId: string;
  readonly inputData: ToolApproval;
}

/** Closes the interaction. */
export interface UserInteractionProcessed {
  readonly type: 'USER_INTERACTION_PROCESSED';
  /** Epoch milliseconds. */
  readonly timestamp: number;
  readonly workflowId: string;
  readonly threadId: string;
  readonly interactionId: string;
  readonly operationType: 'TOOL_APPROVAL';
  /** What was decided about the run; null: nothing was. */
  readonly results: ToolApproval | null;
  readonly metadata: {
    readonly approvalId: string;
    /** `answered`: people gave `output` as the result, and the tool does not run. `superseded`: something else is asked in its place. */
    readonly outcome: 'approved' | 'answered' | 'denied' | 'expired' | 'cancelled' | 'superseded';
    readonly decidedBy: readonly string[];
    /** Only of `answered`. */
    readonly output?: JsonValue;
  };
}

type Asked = Pick<
  ApprovalView,
  'approvalId' | 'arguments' | 'description' | 'expiresAt' | 'requestedAt' | 'runId' | 'toolDescription' | 'toolName'
> &
  Asking;

/** Where the question comes from. */
export interface InteractionPlace {
  readonly workflowId: string;
  readonly nodeId: string;
  /** The principal of the person at the dialog: `(await user.getMe()).principal`. */
  readonly person: string;
}

/**
 * The event that asks one person. The run is its thread. Its `interactionId` is that of this question to this person alone: another
 * person has another one, and so has each next question, as after a withdrawal. So an open dialog answers only what it shows. Show it in
 * the window of `metadata.person` alone.
 * @param approval as the client of the person reads it.
 */
export function interactionRequested(
  approval: Asked,
  { workflowId, nodeId, person }: InteractionPlace,
): UserInteractionRequested {
  const { approvalId, toolName, toolDescription, arguments: toolParameters, requestedAt, expiresAt } = approval;
  const timestamp = Date.parse(requestedAt);
  const shown = shownTo(person, approval);
  // Without words of the agent the ledger has the description of the tool in their place, and the event has that already.
  const description = approval.description === toolDescription ? null : approval.description;
  return {
    ...{ type: 'USER_INTERACTION_REQUESTED', timestamp, workflowId, threadId: approval.runId, nodeId },
    interactionId: interactionIdOf(approvalId, shown),
    operationType: 'TOOL_APPROVAL',
    prompt: questionText(
      { ...approval, description },
      `Run the tool ${inCode(nameWords(toolName))} with these parameters?`,
    ),
    timeout: expiresAt === null ? null : Date.parse(expiresAt) - timestamp,
    metadata: {
      toolApproval: { toolName, toolDescription: toolDescription ?? '', toolParameters, approved: false },
      approvalId,
      ...shown,
    },
  };
}

function interactionIdOf(approvalId: string, { denialId, questionId }: Question): string {
  return `${approvalId}/${denialId}/${questionId}`;
}

function shownQuestionOf(interactionId: string): string {
  return interactionId.split('/')[2] ?? '';
}

/**
 * The approval that an interaction asks about: read it with the client of the person.
 * @throws MappingError when it names none.
 */
export function interactionApprovalId(interactionId: string): string {
  const approvalId = typeof interactionId === 'string' ? interactionId.split('/', 1).join('') : '';
  if (approvalId === '') throw new MappingError('the event has no `interactionId` of an approval');
  return approvalId;
}

/**
 * The response of the application's user to what was asked, for `client.respond(approvalId, body, { idempotencyKey })`: a denial, an
 * approval, or an edit where the parameters were changed. It is bound to the question that the event showed; a denial to its proposal
 * alone. Where the rule requires a reason, `userInstruction` is the reason too.
 * @param approval as it is now, read by the client of the person.
 * @param answering who is signed in, and whose window sent the event in which sign-in.
 * @throws OtherPersonError when the window of another person sent the event.
 * @throws OtherSignInError for anything but a denial that was given in another sign-in.
 * @throws StaleResponseError when another question is asked since, for a denial when something else is proposed, and when another person
 *   was asked.
 * @throws MappingError when it is about another approval or tool, shows other parameters than are asked about, when `approved` is no
 *   boolean, or when it has no `inputData`.
 */
export function responseToInteraction(
  { interactionId, inputData }: UserInteractionResponded,
  approval: Pick<ApprovalView, 'arguments' | 'toolName'> & Asking,
  answering: Answering,
): MappedResponse {
  const { approvalId, toolName, arguments: args, requirement } = approval;
  const what = `the response to the interaction ${interactionId}`;
  checkSender(answering, what);
  if (!isJsonObject(inputData)) throw new MappingError(`${what} has no \`inputData\``);
  const decision = decisionOf(inputData);
  const isDenial = decision.type === 'deny';
  if (!isDenial) checkSignIn(answering, what);
  if (interactionApprovalId(interactionId) !== approvalId || inputData.toolName !== toolName) {
    throw new MappingError(`${what} is not about the approval ${approvalId}`);
  }
  const question = questionOf(answering.person, approval);
  const isAsked = isDenial
    ? interactionId.startsWith(`${approvalId}/${question.denialId}/`)
    : interactionId === interactionIdOf(approvalId, question);
  if (!isAsked) {
    throw new StaleResponseError(
      `${what} is to an earlier question, or to one for another person: look at the current one`,
    );
  }
  if (!isSameJson(inputData.toolParameters, args)) {
    throw new MappingError(`${what} has other parameters than the approval ${approvalId}`);
  }
  return mappedResponse(
    { approvalId, ...question, questionId: shownQuestionOf(interactionId) },
    { decision, ...textIn(inputData, decision, requirement) },
  );
}

/** The dialog has one text. */
function textIn(
  { userInstruction: instruction }: ToolApproval,
  { type }: MappedResponse['body']['decision'],
  { requireReason }: Asking['requirement'],
): { readonly instruction?: string; readonly reason?: string } {
  return instruction ? { instruction, ...(requireReason.includes(type) && { reason: instruction }) } : {};
}

/**
 * Whether the answer of an event is recorded and stands, whatever is asked since or in which sign-in the event is heard again: a repeat,
 * and no refusal. Ask it when `responseToInteraction` throws: an answer that it takes is judged by the ledger.
 * @param approval as it is now, read by the client of the person.
 * @throws MappingError for an event that is no answer.
 */
export function isRecordedInteraction(
  { interactionId, inputData }: UserInteractionResponded,
  approval: Pick<ApprovalView, 'arguments' | 'instructions' | 'toolName'> & Asking,
  { person, sentBy }: Pick<Answering, 'person' | 'sentBy'>,
): boolean {
  if (!isJsonObject(inputData) || !isOwn({ person, sentBy }, person)) return false;
  if (interactionApprovalId(interactionId) !== approval.approvalId || inputData.toolName !== approval.toolName)
    return false;
  const decision = decisionOf(inputData);
  // A "yes" to another proposal is not the one that stands. A "no" goes on, where somebody edited what it refused.
  const isOfProposal = approval.proposal.kind === 'run' && isSameJson(inputData.toolParameters, approval.arguments);
  if (decision.type === 'approve' && !isOfProposal) return false;
  return isRecorded(approval, person, { body: { decision, ...textIn(inputData, decision, approval.requirement) } });
}

function decisionOf({ approved, toolParameters, editedParameters }: ToolApproval): MappedResponse['body']['decision'] {
  if (!checkedAnswer(approved)) return { type: 'deny' };
  // A dialog without an edit may give null.
  if (editedParameters === undefined || editedParameters === null) return { type: 'approve' };
  // Attack or fault: a form gives an empty text for parameters that the person removed, and they would run as they were.
  if (!isJsonObject(editedParameters)) {
    throw new MappingError(`\`editedParameters\` is no object: ${JSON.stringify(editedParameters)}`);
  }
  const isPlain = isSameJson(editedParameters, toolParameters);
  return isPlain ? { type: 'approve' } : { type: 'edit', arguments: editedParameters };
}

type Ended = Pick<ApprovalView, 'approvalId' | 'arguments' | 'instructions' | 'progress' | 'resolution'> & {
  readonly proposal: Pick<ApprovalView['proposal'], 'kind' | 'output'>;
};

/**
 * The event that closes the interaction of an approval that has ended: what was decided, and by whom. `now`: epoch milliseconds.
 * @throws MappingError for an approval that is pending, or that the interaction did not ask about.
 */
export function interactionProcessed(
  approval: Ended,
  asked: UserInteractionRequested,
  now: number,
): UserInteractionProcessed {
  const { resolution: outcome, progress, proposal } = approval;
  if (approval.approvalId !== asked.metadata.approvalId) {
    throw new MappingError(`the interaction ${asked.interactionId} is not about the approval ${approval.approvalId}`);
  }
  if (outcome === null) throw new MappingError(`the interaction ${asked.interactionId} is not decided`);
  if (outcome === 'expired' || outcome === 'cancelled') return closing(asked, now, null, { outcome, decidedBy: [] });
  const by = progress.flatMap(({ approvedBy, deniedBy }) => (outcome === 'approved' ? approvedBy : deniedBy));
  const decidedBy = [...new Set(by)];
  if (outcome === 'approved' && proposal.kind === 'answer') {
    return closing(asked, now, null, { outcome: 'answered', decidedBy, output: proposal.output });
  }
  const { toolApproval } = asked.metadata;
  const isEdited = !isSameJson(approval.arguments, toolApproval.toolParameters);
  const told = approval.instructions.map(({ instruction }) => instruction).join('\n');
  const results = {
    ...{ ...toolApproval, approved: outcome === 'approved' },
    ...(outcome === 'approved' && isEdited && { editedParameters: approval.arguments }),
    ...(told !== '' && { userInstruction: told }),
  };
  return closing(asked, now, results, { outcome, decidedBy });
}

/** The event that closes an interaction in whose place something else is asked. `now`: epoch milliseconds. */
export function interactionSuperseded(asked: UserInteractionRequested, now: number): UserInteractionProcessed {
  return closing(asked, now, null, { outcome: 'superseded', decidedBy: [] });
}

function closing(
  { workflowId, threadId, interactionId, metadata: { approvalId } }: UserInteractionRequested,
  timestamp: number,
  results: ToolApproval | null,
  ended: Omit<UserInteractionProcessed['metadata'], 'approvalId'>,
): UserInteractionProcessed {
  const about = { workflowId, threadId, interactionId, operationType: 'TOOL_APPROVAL' } as const;
  return { type: 'USER_INTERACTION_PROCESSED', timestamp, ...about, results, metadata: { approvalId, ...ended } };
}
