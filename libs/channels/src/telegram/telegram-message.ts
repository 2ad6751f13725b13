import type { AnswerTokens, TokenAction } from '../answer-token.js';
import { agentWordsLabel, asCut, cardOf, newestOf } from '../card/card.js';
import { boundTo, pressesOf } from '../card/presses.js';
import type { Card } from '../card/card.js';
import type { Press, PressLimits } from '../card/presses.js';
import type { Notice } from '../channel.js';
import { digestListOf } from '../digest-list.js';
import { withdrawnWords } from '../place.js';

/** Telegram accepts 4,096 characters per message. */
const textMax = 4_000;
const argumentsMax = 1_800;
/** A channel of ours proves nothing more of a person than their account. The bot of an application may. */
const ofChannel: PressLimits = { assurance: 'low' };

export interface TelegramEntity {
  readonly type: 'bold' | 'pre' | 'code';
  readonly offset: number;
  readonly length: number;
}

export interface TelegramMessage {
  readonly text: string;
  /** Formatting by offsets: no text is parsed, so no text can inject formatting. */
  readonly entities: TelegramEntity[];
  readonly link_preview_options: { readonly is_disabled: true };
  readonly reply_markup: { readonly inline_keyboard: { readonly text: string; readonly callback_data: string }[][] };
}

/** A notice as a message, without buttons when there is nothing to decide. */
export function telegramMessageOf(
  notice: Notice,
  tokens: Pick<AnswerTokens, 'seal'>,
  publicUrl: string | null,
  limits: PressLimits = ofChannel,
): TelegramMessage {
  const whole = cardOf(notice, argumentsMax, publicUrl, limits);
  const card = agreedIn(whole).isFull() ? asCut(whole) : whole;
  const builder = agreedIn(card);
  const isWhole = card.isWhole && !builder.isFull();
  const { change } = card;
  if (change !== undefined)
    builder.add(`\n${change.headline}:\n`, 'code').add(change.lines.join('\n'), 'pre').add('\n');
  if (card.agentWords.length > 0) builder.add(`\n${agentWordsLabel}:\n`, 'bold');
  for (const [label, text] of card.agentWords) builder.add(`${label}:\n`).add(text, 'pre').add('\n');
  return {
    ...builder.built(),
    link_preview_options: { is_disabled: true },
    reply_markup: {
      inline_keyboard: card.isOpen ? [buttonsOf(notice, tokens, pressesOf(notice, isWhole, limits))] : [],
    },
  };
}

/** All of a card that a person decides about. The agent's words come after it. */
function agreedIn(card: Card): Builder {
  const builder = createBuilder();
  // As code, so that foreign names do not become links, mentions or commands. Telegram allows no bold in it.
  builder.add(`${card.headline}\n`, 'code');
  for (const line of newestOf(card.status)) builder.add(`${line}\n`, 'code');
  builder.add('\n');
  // Above what may fill the message: a card without a button to approve says why, and where the whole is.
  for (const warning of card.warnings) builder.add('⚠ ').add(warning, 'code').add('\n');
  // Written as text: Telegram makes a link of it, and refuses a button whose address is not public.
  if (card.link !== null) builder.add(`Look at the whole in the inbox: ${card.link}\n`);
  for (const [label, text] of card.facts) builder.add(`${label}: `).add(text, 'code').add('\n');
  builder.add('\nArguments:\n').add(card.argumentLines.join('\n'), 'pre').add('\n');
  return builder;
}

/** What is left of a card in a chat that the channels file no longer allows. */
export const withdrawnMessage: TelegramMessage = {
  text: withdrawnWords,
  entities: [],
  link_preview_options: { is_disabled: true },
  reply_markup: { inline_keyboard: [] },
};

/** A line and its link take at most about 400 characters. */
const digestLinesMax = 9;

/** A digest as a message, without buttons. */
export function telegramDigestOf(notices: readonly Notice[], publicUrl: string | null): TelegramMessage {
  const { headline, lines, more } = digestListOf(notices, publicUrl, digestLinesMax);
  const builder = createBuilder();
  builder.add(`${headline}\n`, 'bold');
  for (const { text, link } of lines) {
    builder.add('\n').add(text, 'code').add('\n');
    if (link !== null) builder.add(`${link}\n`);
  }
  if (more !== '') builder.add(`\n${more}`);
  return { ...builder.built(), link_preview_options: { is_disabled: true }, reply_markup: { inline_keyboard: [] } };
}

interface Builder {
  readonly add: (text: string, format?: TelegramEntity['type']) => Builder;
  /** True once something did not fit. */
  readonly isFull: () => boolean;
  readonly built: () => Pick<TelegramMessage, 'text' | 'entities'>;
}

function createBuilder(): Builder {
  let text = '';
  let isFull = false;
  const entities: TelegramEntity[] = [];
  const builder: Builder = {
    add: (given, format) => {
      if (isFull) return builder;
      const room = textMax - text.length;
      isFull = given.length > room;
      const shown = isFull ? `${given.slice(0, Math.max(0, room - 24))}…⟦more is not shown⟧` : given;
      const length = shown.trimEnd().length;
      if (format !== undefined && length > 0) entities.push({ type: format, offset: text.length, length });
      text += shown;
      return builder;
    },
    isFull: () => isFull,
    built: () => ({ text: text.trimEnd(), entities }),
  };
  return builder;
}

const buttonKinds = [
  { decision: 'approve', action: 'a', text: '✅ Approve' },
  { decision: 'deny', action: 'd', text: '❌ Deny' },
] as const;

/** What a button with this text is for; without its text, either. */
export function meaningOfButton(text: string | undefined): readonly TokenAction[] {
  return buttonKinds.filter((kind) => text === undefined || kind.text === text).map(({ action }) => action);
}

/** A part that is not shown is not approved here. */
function buttonsOf(
  { approval, together }: Notice,
  tokens: Pick<AnswerTokens, 'seal'>,
  presses: readonly Press[],
): { text: string; callback_data: string }[] {
  if (approval === null) return [];
  const { approvalId } = approval;
  const dataOf = (action: TokenAction): string =>
    tokens.seal({ action, approvalId, shownDigest: boundTo(action, approval, together) });
  return buttonKinds
    .filter(({ decision }) => presses.includes(decision))
    .map(({ action, text }) => ({ text, callback_data: dataOf(action) }));
}
