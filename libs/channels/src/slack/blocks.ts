import type { KnownBlock } from '@slack/web-api';
import type { AnswerTokens, TokenAction } from '../answer-token.js';
import { agentWordsLabel, asCut, cardOf, newestOf } from '../card/card.js';
import { boundTo, pressesOf } from '../card/presses.js';
import type { Card } from '../card/card.js';
import type { Notice } from '../channel.js';
import { digestListOf } from '../digest-list.js';
import { withdrawnWords } from '../place.js';
import { formDecisions } from './form-decisions.js';
import { argumentsMax, code, cut, escapedMrkdwn, isWholeAsCode, plain, sectionMax } from './sections.js';

const headerMax = 150;

/** A notice as Block Kit, and as one line for notifications. `hasForm`: a button opens a form for a reason and an edit. */
export function messageOf(
  notice: Notice,
  tokens: Pick<AnswerTokens, 'seal'>,
  publicUrl: string | null,
  { hasForm }: { readonly hasForm: boolean } = { hasForm: true },
): { readonly text: string; readonly blocks: KnownBlock[] } {
  const whole = cardOf(notice, argumentsMax, publicUrl);
  const args = whole.argumentLines.join('\n');
  const facts = whole.facts.map(([label, text]) => `${label}: ${text}`).join('\n');
  const card = isWholeAsCode(args) && facts.length <= sectionMax ? whole : asCut(whole);
  const { isWhole } = card;
  const blocks: KnownBlock[] = [
    { type: 'header', text: { type: 'plain_text', text: cut(card.headline, headerMax), emoji: false } },
    ...newestOf(card.status).map(plain),
    plain(facts),
    ...card.warnings.map((warning) => plain(`⚠ ${warning}`)),
    ...linkTo(card),
    code(args),
    ...changed(card),
    ...ownWords(card),
    ...(card.isOpen ? buttons(notice, tokens, { isWhole, hasForm }) : []),
  ];
  return { text: escapedMrkdwn(card.headline), blocks };
}

/** What is left of a card in a channel that the channels file no longer allows. */
export const withdrawnMessage = { text: withdrawnWords, blocks: [plain(withdrawnWords)] };

/** Only for texts of ours. A text of an agent could contain markup. */
function linkTo({ link }: Pick<Card, 'link'>): KnownBlock[] {
  if (link === null) return [];
  const text = `<${escapedMrkdwn(link)}|Look at the whole in the inbox>`;
  return [{ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } }];
}

function changed({ change }: Card): KnownBlock[] {
  return change === undefined ? [] : [plain(`${change.headline}:`), code(change.lines.join('\n'))];
}

function ownWords({ agentWords }: Card): KnownBlock[] {
  if (agentWords.length === 0) return [];
  return [plain(`${agentWordsLabel}:`), ...agentWords.map(([label, text]) => plain(`${label}:\n${text}`))];
}

const buttonKinds = [
  { actionId: 'approve', action: 'a', label: 'Approve', style: 'primary' },
  { actionId: 'deny', action: 'd', label: 'Deny', style: 'danger' },
  { actionId: 'more', action: 'm', label: 'More…', style: undefined },
] as const;

/** What a button with this id is for. */
export function meaningOfButton(actionId: string | undefined): readonly TokenAction[] {
  return buttonKinds.filter((kind) => kind.actionId === actionId).map(({ action }) => action);
}

/** The form has a reason, but no signature. It shows one call, so a card about several has none. */
function buttons(
  notice: Notice,
  tokens: Pick<AnswerTokens, 'seal'>,
  { isWhole, hasForm }: { readonly isWhole: boolean; readonly hasForm: boolean },
): KnownBlock[] {
  const { approval, together = [] } = notice;
  if (approval === null) return [];
  const { approvalId } = approval;
  const presses: readonly string[] = pressesOf(notice, isWhole);
  const inForm = formDecisions(approval).length > 0;
  const elements = buttonKinds
    .filter(({ actionId }) =>
      actionId === 'more' ? hasForm && inForm && together.length === 0 : presses.includes(actionId),
    )
    .map(({ actionId, action, label, style }) => ({
      type: 'button' as const,
      action_id: actionId,
      text: { type: 'plain_text' as const, text: label },
      value: tokens.seal({ action, approvalId, shownDigest: boundTo(action, approval, together) }),
      ...(style === undefined ? {} : { style }),
    }));
  // Slack refuses a row without buttons.
  return elements.length === 0 ? [] : [{ type: 'actions', block_id: 'decision', elements }];
}

/** Slack accepts 50 blocks per message; a line has two. */
const digestLinesMax = 20;

/** A digest as Block Kit. Foreign texts are plain; only our own words are links. */
export function slackDigestOf(
  notices: readonly Notice[],
  publicUrl: string | null,
): { readonly text: string; readonly blocks: KnownBlock[] } {
  const { headline, lines, more } = digestListOf(notices, publicUrl, digestLinesMax);
  const blocks: KnownBlock[] = [
    { type: 'header', text: { type: 'plain_text', text: headline, emoji: false } },
    ...lines.flatMap(({ text, link }) => [plain(text), ...linkTo({ link })]),
    ...(more === '' ? [] : [plain(more)]),
  ];
  return { text: headline, blocks };
}
