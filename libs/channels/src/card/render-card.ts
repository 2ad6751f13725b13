import { hash } from 'node:crypto';
import type { ApprovalView } from '@countersign/contracts';
import type { AnswerTokens } from '../answer-token.js';
import { copyOf } from '../channel.js';
import type { Notice } from '../channel.js';
import { textOfCard } from '../email/mail-text.js';
import { messageOf } from '../slack/blocks.js';
import { adaptiveCardOf } from '../teams/adaptive-card.js';
import { telegramMessageOf } from '../telegram/telegram-message.js';
import { cardOf } from './card.js';
import { boundTo, pressesOf } from './presses.js';

/** A form in which an application that has a bot of its own gets a card. */
export type CardFormat = 'telegram' | 'slack' | 'teams' | 'text';

/** A button of a card, and the response that a press on it stands for. */
export interface CardPress {
  /** What the button carries: at most 64 bytes, the same for the same button of the same content. */
  readonly value: string;
  readonly decision: 'approve' | 'deny';
  /** The body of the response. It names what the card shows, so that a later change is noticed. */
  readonly request:
    | {
        readonly decision: { readonly type: 'approve' };
        readonly proposalDigest: string;
        readonly shownDigest: string;
        /** Attack: a press that is delivered again brings back an approval that its person took back. */
        readonly shownRevision: number;
        /** Only where the call runs together with others: it may release them. */
        readonly shownOthersDigest?: string;
      }
    /**
     * Of the proposal alone, since a denial only restricts. Attack: somebody votes, instructs and withdraws, so that each "no" under way
     * is one to an earlier question.
     */
    | { readonly decision: { readonly type: 'deny' }; readonly proposalDigest: string };
}

/** A card as a channel of ours would send it. */
export interface RenderedCard {
  readonly card: object;
  /** One for each button. Empty: the card has none. */
  readonly presses: readonly CardPress[];
}

const textCharactersMax = 20_000;
/** Renders the current content of an approval for a bot that is not ours. What cannot be shown whole has no button to approve it. */
export function renderCard(
  question: Pick<Notice, 'call'> & { readonly approval: ApprovalView },
  format: CardFormat,
  publicUrl: string | null,
): RenderedCard {
  const notice = copyOf(question);
  const presses: CardPress[] = [];
  const { proposal, shownRevision, shownOthersDigest } = question.approval;
  const proposalDigest = proposal.digest;
  const seal: AnswerTokens['seal'] = ({ action, approvalId, shownDigest }) => {
    const value = `${action}${hash('sha256', JSON.stringify([approvalId, shownDigest, action]), 'base64url')}`;
    if (action === 'a') {
      const others = shownOthersDigest === undefined ? {} : { shownOthersDigest };
      const request = { decision: { type: 'approve' }, proposalDigest, shownDigest, shownRevision, ...others } as const;
      presses.push({ value, decision: 'approve', request });
    }
    if (action === 'd')
      presses.push({ value, decision: 'deny', request: { decision: { type: 'deny' }, proposalDigest } });
    return value;
  };
  return { card: cardIn(format, notice, { seal }, publicUrl), presses };
}

function cardIn(
  format: CardFormat,
  notice: Notice,
  tokens: Pick<AnswerTokens, 'seal'>,
  publicUrl: string | null,
): object {
  switch (format) {
    case 'telegram':
      return telegramMessageOf(notice, tokens, publicUrl, {});
    case 'slack':
      return messageOf(notice, tokens, publicUrl, { hasForm: false });
    case 'teams':
      return adaptiveCardOf(notice, tokens, publicUrl);
    case 'text':
      return textCard(notice, tokens, publicUrl);
  }
}

/** A text has no buttons; its reader says which of the decisions they take. */
function textCard(notice: Notice, tokens: Pick<AnswerTokens, 'seal'>, publicUrl: string | null): object {
  const card = cardOf(notice, textCharactersMax, publicUrl);
  const { approval } = notice;
  if (card.isOpen && approval !== null) {
    for (const press of pressesOf(notice, card.isWhole)) {
      const action = press === 'approve' ? 'a' : 'd';
      tokens.seal({ action, approvalId: approval.approvalId, shownDigest: boundTo(action, approval) });
    }
  }
  return { text: textOfCard(card) };
}
