import { jcsDigest } from '@countersign/contracts';
import type { ApprovalView, Decision, JsonObject, JsonValue, RespondBody } from '@countersign/contracts';
import { CountersignError } from '../errors.js';
import { isSameJson } from '../tools/schema.js';
import { MappingError } from './mapping-error.js';
import { isOf } from './question.js';
import type { Question } from './question.js';

type Body = Pick<
  RespondBody,
  'instruction' | 'proposalDigest' | 'reason' | 'shownDigest' | 'shownOthersDigest' | 'shownRevision'
> & {
  readonly decision: Decision;
};

/** A person's response in the words of another product, as a response to an approval of the ledger. */
export interface MappedResponse {
  readonly approvalId: string;
  readonly body: Body;
  /**
   * The same for the same answer of the same person to the same question. It MUST be sent with the response: a message that is read
   * again is then a repeat, and adds nothing.
   */
  readonly idempotencyKey: string;
}

/**
 * The response to a question, bound to what it showed. A denial is bound to the proposal alone. Its key is that of the question on the
 * screen: whoever withdrew one can deny again, and the message of the first one is still a repeat.
 * @throws MappingError for a text that the ledger does not take.
 */
export function mappedResponse(
  { approvalId, questionId, ...shown }: Question & { readonly approvalId: string },
  answer: Pick<Body, 'decision' | 'instruction' | 'reason'>,
): MappedResponse {
  const { proposalDigest, shownDigest, shownRevision, shownOthersDigest } = shown;
  const isDenial = answer.decision.type === 'deny';
  const others = shownOthersDigest === undefined ? {} : { shownOthersDigest };
  const body = { ...answer, proposalDigest, ...(!isDenial && { shownDigest, shownRevision, ...others }) };
  const idempotencyKey = keyOf([approvalId, questionId, JSON.parse(JSON.stringify(body)) as JsonObject]);
  for (const text of [answer.reason ?? '', answer.instruction ?? '']) {
    if (text.length > maxText)
      throw new MappingError(`a reason or an instruction has at most ${String(maxText)} characters`);
  }
  return { approvalId, body, idempotencyKey };
}

/** The longest reason or instruction that the ledger takes. */
const maxText = 8192;

function keyOf(parts: readonly JsonValue[]): string {
  try {
    return jcsDigest([...parts]);
  } catch (cause) {
    // Half of a character, as where a text was cut.
    throw new MappingError('the response has a text that is no valid Unicode', { cause });
  }
}

/**
 * Attack or fault: a form or another language sends the text "false", which JavaScript takes for a yes.
 * @throws MappingError for anything but a boolean.
 */
export function checkedAnswer(approved: unknown): boolean {
  if (typeof approved === 'boolean') return approved;
  throw new MappingError(`\`approved\` is neither true nor false: ${String(approved)}`);
}

/**
 * Whether the response of this person that stands says the same as this one. After `already-voted`: false means that the person now
 * answers otherwise, which counts only when they withdraw the earlier response. Tell them.
 * @param person their principal.
 */
export function isRecorded(
  { responses, instructions }: Pick<ApprovalView, 'instructions' | 'responses'>,
  person: string,
  { body: { decision, reason, instruction } }: { readonly body: Pick<Body, 'decision' | 'instruction' | 'reason'> },
): boolean {
  const told = instructions.find((one) => isOf(person, one))?.instruction;
  const own = responses.find((one) => one.counted && isOf(person, one));
  if (own?.reason !== (reason ?? null) || told !== instruction) return false;
  // Who has proposed what is asked agrees to it.
  const agrees = decision.type === 'approve' && own.decision.type !== 'deny';
  return agrees || isSameJson(own.decision, decision);
}

/**
 * Whether a response itself was refused, such as for a missing reason or as one to an earlier question. Otherwise nobody has judged it,
 * as where the server was not reachable or did not take the token: send it again.
 */
export function isRefusedResponse(error: unknown): error is CountersignError | MappingError {
  if (error instanceof MappingError) return true;
  if (!(error instanceof CountersignError) || error.code === 'forbidden') return false;
  const status = error.status ?? 0;
  return status >= 400 && status < 500 && ![401, 408, 429].includes(status);
}
