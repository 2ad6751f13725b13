import type { ApprovalView } from '@countersign/contracts';
import { answerWords, expiredWords, strangerWords } from './response-port.js';
import type { ResponsePort } from './response-port.js';
import { digestStartOf } from './answer-token.js';
import type { AnswerTokens, TokenContent } from './answer-token.js';
import type { Person } from './config/channels-file.js';

/** What a button that was pressed is about; or what its presser is told instead. */
export type Interaction =
  | { readonly status: 'open'; readonly person: Person; readonly token: TokenContent; readonly approval: ApprovalView }
  /** `isStale`: the button decides nothing any more. */
  | { readonly status: 'told'; readonly words: string; readonly isStale: boolean };

/** Looks at a press: by somebody we know, with a token of ours, about a question that is still what they were shown. */
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
  // "More…" shows it anew; what is decided already is told by the ledger, which knows who was first.
  const isSame = token.action === 'm' || digestStartOf(approval.actionDigest) === token.digestStart;
  if (isSame || approval.state !== 'pending') return { status: 'open', person, token, approval };
  const words = answerWords({ status: 'refused', code: 'digest-mismatch', detail: '' }, '');
  return { status: 'told', words, isStale: true };
}
