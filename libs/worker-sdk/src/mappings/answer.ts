import { jcsDigest } from '@countersign/contracts';
import type { ApprovalView, Decision, JsonObject, RespondBody } from '@countersign/contracts';
import { boundBy } from '../results/question.js';
import type { Bound } from '../results/question.js';

type Body = Pick<RespondBody, 'instruction' | 'proposalDigest' | 'reason' | 'shownDigest'> & {
  readonly decision: Decision;
};

/** A person's response in the words of another product, as a response to an approval of the ledger. */
export interface MappedResponse {
  readonly approvalId: string;
  readonly body: Body;
  /**
   * The same for the same message. It MUST be sent with the response: a message that is read again after its person withdrew the
   * response is then refused (`idempotency-key-reused`) and does not respond again.
   */
  readonly idempotencyKey: string;
}

/** A content or an event that does not belong to the approval, or is no answer. Nothing was sent to the ledger. */
export class MappingError extends Error {
  override readonly name: string = 'MappingError';
}

/** Another proposal or instruction is asked about since: show the current question. Nothing was sent to the ledger. */
export class StaleResponseError extends MappingError {
  override readonly name = 'StaleResponseError';
}

/** What a question of another product carries besides the call. */
export interface Shown extends Bound {
  readonly allowedDecisions: ApprovalView['allowedDecisions'];
  /** The decisions that need a reason. */
  readonly requireReason: ApprovalView['allowedDecisions'];
  /** By stage: who has approved or denied, and how many more people must agree. */
  readonly progress: ApprovalView['progress'];
}

/** The members of an approval that its question is made of. */
export type Asking = Pick<ApprovalView, 'allowedDecisions' | 'approvalId' | 'progress'> &
  Parameters<typeof boundBy>[0] & { readonly requirement: Pick<ApprovalView['requirement'], 'requireReason'> };

/** Returns what the question shows, as a message carries it: without members that are absent. */
export function shownBy(approval: Asking): Shown & JsonObject {
  const { allowedDecisions, progress, requirement } = approval;
  const shown = { ...boundBy(approval), allowedDecisions, requireReason: requirement.requireReason, progress };
  return jsonOf(shown);
}

function jsonOf<Value extends object>(value: Value): Value & JsonObject {
  return JSON.parse(JSON.stringify(value)) as Value & JsonObject;
}

/** @param questionId of the content or event that asked. */
export function mappedResponse(approvalId: string, questionId: string, body: Body): MappedResponse {
  return { approvalId, body, idempotencyKey: jcsDigest([approvalId, questionId, jsonOf(body)]) };
}

/**
 * Attack or fault: a form or another language sends the text "false", which JavaScript takes for a yes.
 * @throws MappingError for anything but a boolean.
 */
export function checkedAnswer(approved: unknown): boolean {
  if (typeof approved === 'boolean') return approved;
  throw new MappingError(`\`approved\` is neither true nor false: ${String(approved)}`);
}
