import type { ApprovalView, JsonObject } from '@countersign/contracts';
import { boundBy, questionText } from '../results/question.js';
import type { Bound } from '../results/question.js';
import { isSameJson } from '../tools/schema.js';
import { MappingError } from './answer.js';
import type { MappedResponse } from './answer.js';

/** The payload of a tool approval between a workflow engine and its application. */
export interface ToolApproval {
  readonly toolName: string;
  readonly toolDescription: string;
  readonly toolParameters: JsonObject;
  readonly approved: boolean;
  readonly editedParameters?: JsonObject | undefined;
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
  readonly metadata: Bound & { readonly toolApproval: ToolApproval; readonly approvalId: string };
}

/** The answer of the application's user. */
export interface UserInteractionResponded {
  readonly type?: 'USER_INTERACTION_RESPONDED';
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
  readonly results: ToolApproval;
}

type Asked = Pick<
  ApprovalView,
  'approvalId' | 'arguments' | 'description' | 'expiresAt' | 'requestedAt' | 'runId' | 'toolDescription' | 'toolName'
> &
  Parameters<typeof boundBy>[0];

/**
 * The event that asks the application. The run is its thread. Its `interactionId` is that of this question alone: when another proposal
 * or instruction is asked about in the same approval, it is another one, so an open dialog answers only what it shows.
 */
export function interactionRequested(
  approval: Asked,
  { workflowId, nodeId }: { readonly workflowId: string; readonly nodeId: string },
): UserInteractionRequested {
  const { approvalId, toolName, toolDescription, arguments: toolParameters, requestedAt, expiresAt } = approval;
  const timestamp = Date.parse(requestedAt);
  // Without a question of the agent the ledger has the description of the tool in its place.
  const description = approval.description === toolDescription ? null : approval.description;
  return {
    ...{ type: 'USER_INTERACTION_REQUESTED', timestamp, workflowId, threadId: approval.runId, nodeId },
    ...{ interactionId: `${approvalId}/${approval.shownDigest}`, operationType: 'TOOL_APPROVAL' },
    prompt: questionText({ ...approval, description }, `Run the tool "${toolName}" with these parameters?`),
    timeout: expiresAt === null ? null : Date.parse(expiresAt) - timestamp,
    metadata: {
      toolApproval: { toolName, toolDescription: toolDescription ?? '', toolParameters, approved: false },
      approvalId,
      ...boundBy(approval),
    },
  };
}

/**
 * The response of the application's user to what was asked, for `client.respond`: a denial, an approval, or an edit where the
 * parameters were changed. It is bound to the proposal that the event showed.
 * @throws MappingError when it is about another interaction or tool, or shows other parameters than were asked about.
 */
export function responseToInteraction(
  { interactionId, inputData }: UserInteractionResponded,
  { interactionId: askedId, metadata }: UserInteractionRequested,
): MappedResponse {
  const { toolApproval, approvalId, proposalDigest, shownDigest } = metadata;
  if (interactionId !== askedId || inputData.toolName !== toolApproval.toolName) {
    throw new MappingError(`the response is not about the interaction ${askedId}`);
  }
  if (!isSameJson(inputData.toolParameters, toolApproval.toolParameters)) {
    throw new MappingError(`the response has other parameters than the interaction ${askedId}`);
  }
  const { userInstruction: instruction } = inputData;
  return {
    approvalId,
    body: {
      decision: decisionOf(inputData),
      proposalDigest,
      shownDigest,
      ...(instruction !== undefined && instruction !== '' && { instruction }),
    },
  };
}

function decisionOf({ approved, toolParameters, editedParameters }: ToolApproval): MappedResponse['body']['decision'] {
  if (!approved) return { type: 'deny' };
  if (editedParameters === undefined || isSameJson(editedParameters, toolParameters)) return { type: 'approve' };
  return { type: 'edit', arguments: editedParameters };
}

/** The event that closes the interaction. `now`: epoch milliseconds. */
export function interactionProcessed(
  { inputData: results }: UserInteractionResponded,
  { workflowId, threadId, interactionId }: UserInteractionRequested,
  now: number,
): UserInteractionProcessed {
  const about = { workflowId, threadId, interactionId, operationType: 'TOOL_APPROVAL' } as const;
  return { type: 'USER_INTERACTION_PROCESSED', timestamp: now, ...about, results };
}
