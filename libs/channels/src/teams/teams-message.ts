import type { AnswerTokens } from '../answer-token.js';
import { cardOf } from '../card/card.js';
import type { Notice } from '../channel.js';
import { digestListOf } from '../digest-list.js';
import { withdrawnWords } from '../place.js';
import { adaptiveCardOf, adaptiveListOf } from './adaptive-card.js';
import type { AdaptiveCard } from './adaptive-card.js';
import type { TeamsActivity } from './teams-client.js';

/** A notice as a message of our own bot, with a form for a reason. */
export function teamsMessageOf(
  notice: Notice,
  tokens: Pick<AnswerTokens, 'seal'>,
  publicUrl: string | null,
): TeamsActivity {
  const { headline } = cardOf(notice, 0);
  return messageWith(headline, adaptiveCardOf(notice, tokens, publicUrl, { hasForm: true }));
}

/** What is left of a card in a conversation that the channels file no longer allows. */
export const withdrawnMessage = messageWith(withdrawnWords, adaptiveListOf(withdrawnWords, []));

const digestLinesMax = 20;

/** A digest as a message, without a way to decide. */
export function teamsDigestOf(notices: readonly Notice[], publicUrl: string | null): TeamsActivity {
  const { headline, lines, more } = digestListOf(notices, publicUrl, digestLinesMax);
  const rest = more === '' ? [] : [{ text: more, link: null }];
  return messageWith(headline, adaptiveListOf(headline, [...lines, ...rest]));
}

function messageWith(headline: string, content: AdaptiveCard): TeamsActivity {
  return {
    type: 'message',
    // Teams reads markup in some texts of a message, and a headline has the name of a tool.
    summary: headline.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content }],
  };
}
