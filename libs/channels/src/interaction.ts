import type { ApprovalView } from '@countersign/contracts';
import { answerWords, expiredWords, strangerWords } from './response-port.js';
import type { ResponsePort } from './response-port.js';
import { digestStartOf } from './answer-token.js';
import type { AnswerTokens, TokenContent } from './answer-token.js';
import type { Person } from './config/channels-file.js';

/** The approval of a pressed button, or an error text for the person. */
export type Interaction =
  | { readonly status: 'open'; readonly person: Person; readonly token: TokenContent; readonly approval: ApprovalView }
  /** `isStale`: the button is no longer active. */
  | { readonly status: 'told'; readonly words: string; readonly isStale: boolean };

/** Checks a press: a known person, a token of ours, and an approval that is still what they were shown. */
export async function readInteraction(
  person: Person | undefined,
  tokenText: string | undefined,
  { tokens, responses }: { readonly tokens: AnswerTokens; readonly responses: ResponsePort },
): Promise<Interaction> {
  if (person === undefined) return { status: 'told', words: strangerWords, isStale: false };
  const token = tokens.open(tokenText ?? '');
  const approval = token === undefined ? undefined : (await responses.find(token.approvalId))?.approval;
  if (token === undefined || !approval) {
    return { status: 'told', words: expiredWords, isStale: true };
  }
  // "More…" too: what it opens is bound to what the card showed. For a decided approval the ledger reports who was first.
  const isSame = digestStartOf(approval.shownDigest) === token.digestStart;
  if (isSame || approval.state !== 'pending') return { status: 'open', person, token, approval };
  const words = answerWords({ status: 'refused', code: 'digest-mismatch', detail: '' }, '');
  return { status: 'told', words, isStale: true };
}
