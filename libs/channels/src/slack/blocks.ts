import type { KnownBlock } from '@slack/web-api';
import type { AnswerTokens, TokenAction } from '../answer-token.js';
import { agentWordsLabel, asCut, cardOf } from '../card/card.js';
import { pressesOf, whyElsewhere } from '../card/presses.js';
import type { Card } from '../card/card.js';
import type { Notice } from '../channel.js';
import { digestListOf } from '../digest-list.js';
import { withdrawnWords } from '../place.js';

/** Slack accepts 3,000 characters per section; escaping lengthens a text. */
export const sectionMax = 2_900;
export const argumentsMax = 2_000;
const headerMax = 150;

/** The three characters with a meaning in mrkdwn. */
export function escapedMrkdwn(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A text in a fence that nothing in it can close. */
function fenced(text: string): string {
  const closed = escapedMrkdwn(text).replaceAll('```', '⟦U+0060⟧⟦U+0060⟧⟦U+0060⟧');
  return `\`\`\`\n${closed}\n\`\`\``;
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 24)}…⟦more is not shown⟧`;
}

/** Plain text: nothing in it is read as a mention, a link, an emoji or a format. */
export function plain(text: string): KnownBlock {
  return { type: 'section', text: { type: 'plain_text', text: cut(text, sectionMax), emoji: false } };
}

/** A text as code. It is cut visibly where it does not fit. */
export function code(text: string): KnownBlock {
  return { type: 'section', text: { type: 'mrkdwn', text: fenced(cutLines(text)), verbatim: true } };
}

/** Returns whether a text fits into one section. */
export function isWholeAsCode(text: string): boolean {
  return fenced(text).length <= sectionMax;
}

/** Escaping and marks may make a text longer than a section: what does not fit is named, never dropped in silence. */
function cutLines(text: string): string {
  if (isWholeAsCode(text)) return text;
  let shown = text;
  while (fenced(shown).length > sectionMax - 40) shown = shown.slice(0, Math.floor(shown.length * 0.9));
  return `${shown}…⟦more is not shown⟧`;
}

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
    ...card.status.slice(-8).map(plain),
    plain(facts),
    ...card.warnings.map((warning) => plain(`⚠ ${warning}`)),
    ...linkTo(card),
    code(args),
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
  const question = { approvalId: approval?.approvalId ?? '', shownDigest: approval?.shownDigest ?? '' };
  const presses: readonly string[] = pressesOf(notice, isWhole);
  const inForm = approval !== null && whyElsewhere(approval, 'approve', { hasReason: true }) === undefined;
  const elements = buttonKinds
    .filter(({ actionId }) =>
      actionId === 'more' ? hasForm && inForm && together.length === 0 : presses.includes(actionId),
    )
    .map(({ actionId, action, label, style }) => ({
      type: 'button' as const,
      action_id: actionId,
      text: { type: 'plain_text' as const, text: label },
      value: tokens.seal({ action, ...question }),
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
