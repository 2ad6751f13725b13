import type { ApprovalView } from '@countersign/contracts';
import type { Log } from '@countersign/runtime';
import { answerWords, damagedWords, disagreeWords, expiredWords, strangerWords } from './response-port.js';
import type { ResponsePort } from './response-port.js';
import { digestStartOf } from './answer-token.js';
import { boundTo } from './card/presses.js';
import type { AnswerTokens, TokenAction, TokenContent } from './answer-token.js';
import type { Person } from './config/channels-file.js';

/** The approval of a pressed button, or an error text for the person. */
export type Interaction =
  | {
      readonly status: 'open';
      readonly person: Person;
      readonly token: TokenContent;
      readonly approval: ApprovalView;
      /** One response decides about several calls. */
      readonly isAboutStep: boolean;
    }
  /** `isStale`: the button is no longer active. */
  | { readonly status: 'told'; readonly words: string; readonly isStale: boolean };

/** A pressed button as the vendor reports it. */
export interface Pressed {
  readonly person: Person | undefined;
  /** The token in the button. */
  readonly value: string | undefined;
  /** What the button is for, as far as the vendor says: none where that is no button of ours. */
  readonly means: readonly TokenAction[];
}

/**
 * Checks a press: a known person, a token of ours, a button that is for what its token says, and an approval that is still
 * what they were shown.
 */
export async function readInteraction(
  { person, value = '', means }: Pressed,
  { tokens, responses, log, channelId }: InteractionPorts,
): Promise<Interaction> {
  if (person === undefined) return { status: 'told', words: strangerWords, isStale: false };
  const token = tokens.open(value);
  if (token === undefined) return { status: 'told', words: damagedWords, isStale: true };
  if (!means.includes(token.action)) {
    // The attack: a button that reads "Deny" carries the token of "Approve".
    log.warn({ channelId, person: person.id }, 'refused: a button whose value is for something else');
    return { status: 'told', words: disagreeWords, isStale: true };
  }
  const { approval, together = [] } = (await responses.find(token.approvalId)) ?? {};
  if (!approval) return { status: 'told', words: expiredWords, isStale: true };
  // "More…" too: what it opens is bound to what the card showed. For a decided approval the ledger reports who was first.
  const isSame = digestStartOf(boundTo(token.action, approval, together)) === token.digestStart;
  if (isSame || approval.state !== 'pending') {
    return { status: 'open', person, token, approval, isAboutStep: together.length > 0 };
  }
  const words = answerWords({ status: 'refused', code: 'digest-mismatch', detail: '' }, '');
  return { status: 'told', words, isStale: true };
}

interface InteractionPorts {
  readonly tokens: AnswerTokens;
  readonly responses: ResponsePort;
  readonly log: Log;
  readonly channelId: string;
}
