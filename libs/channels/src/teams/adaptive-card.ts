import { agentWordsLabel, asCut, cardOf, newestOf } from '../card/card.js';
import { boundTo, pressesOf } from '../card/presses.js';
import type { Card } from '../card/card.js';
import type { Press } from '../card/presses.js';
import type { AnswerTokens, TokenAction } from '../answer-token.js';
import type { Notice } from '../channel.js';

const argumentsMax = 2_000;
/** A card has at most 100 KB in Teams, and each line is an element of its own. */
const argumentLinesMax = 100;
const wordLinesMax = 20;

interface TextRun {
  readonly type: 'TextRun';
  readonly text: string;
  readonly weight?: 'Bolder';
  readonly size?: 'Large';
  readonly fontType?: 'Monospace';
  readonly selectAction?: OpenUrl;
}

/** Text runs are no Markdown, so no text can inject a link, a mention or a format. */
interface RichTextBlock {
  readonly type: 'RichTextBlock';
  readonly spacing: 'None' | 'Small' | 'Medium';
  readonly inlines: readonly TextRun[];
}

/** The field of the form. What is written into it comes with a press on a button of the form. */
interface ReasonInput {
  readonly type: 'Input.Text';
  readonly id: 'reason';
  readonly label: string;
  readonly isMultiline: true;
  readonly maxLength: number;
}

interface OpenUrl {
  readonly type: 'Action.OpenUrl';
  readonly title: string;
  readonly url: string;
}

interface Submit {
  readonly title: string;
  readonly style: 'positive' | 'destructive';
  readonly data: Readonly<Record<string, string>>;
}

type Action =
  | (Submit & { readonly type: 'Action.Submit' })
  | (Submit & { readonly type: 'Action.Execute'; readonly verb: string; readonly fallback?: Action })
  | { readonly type: 'Action.ShowCard'; readonly title: string; readonly card: ReasonForm }
  | OpenUrl;

interface ReasonForm {
  readonly type: 'AdaptiveCard';
  readonly body: readonly ReasonInput[];
  readonly actions: readonly Action[];
}

/** An Adaptive Card 1.5. */
export interface AdaptiveCard {
  readonly $schema: 'http://adaptivecards.io/schemas/adaptive-card.json';
  readonly type: 'AdaptiveCard';
  readonly version: '1.5';
  readonly msteams: { readonly width: 'Full' };
  readonly body: readonly RichTextBlock[];
  readonly actions: readonly Action[];
}

/** The longest reason. */
export const reasonMax = 2_000;

/**
 * A notice as an Adaptive Card, without buttons when there is nothing to decide. The data of a button are the approval, the
 * digests of what is shown, the decision, and the token. `hasForm`: the card is that of our own bot, which gets presses as
 * `Action.Execute` alone, with a form for a reason.
 */
export function adaptiveCardOf(
  notice: Notice,
  tokens: Pick<AnswerTokens, 'seal'>,
  publicUrl: string | null,
  { hasForm }: { readonly hasForm: boolean } = { hasForm: false },
): AdaptiveCard {
  const whole = cardOf(notice, argumentsMax, publicUrl, { hasReason: hasForm });
  const args = cutLines(whole.argumentLines, argumentLinesMax);
  const card = args.length === whole.argumentLines.length ? whole : asCut(whole);
  const { isWhole } = card;
  return {
    ...head,
    body: [
      headlineOf(card.headline),
      ...newestOf(card.status).map((line) => block([run(line)])),
      ...card.facts.map(([label, text]) => block([{ ...run(`${label}: `), weight: 'Bolder' }, run(text)])),
      ...card.warnings.map((warning) => block([{ ...run(`⚠ ${warning}`), weight: 'Bolder' }], 'Small')),
      block([{ ...run('Arguments:'), weight: 'Bolder' }], 'Medium'),
      ...args.map(codeLine),
      ...changed(card),
      ...(card.agentWords.length === 0 ? [] : [block([{ ...run(`${agentWordsLabel}:`), weight: 'Bolder' }], 'Medium')]),
      ...card.agentWords.flatMap(([label, text]) => [
        block([run(`${label}:`)], 'Small'),
        ...cutLines(text.split('\n'), wordLinesMax).map(codeLine),
      ]),
    ],
    actions: [...(card.isOpen ? buttonsOf(notice, tokens, { isWhole, hasForm }) : []), ...linkTo(card.link)],
  };
}

function changed({ change }: Card): RichTextBlock[] {
  if (change === undefined) return [];
  return [block([{ ...run(`${change.headline}:`), weight: 'Bolder' }], 'Medium'), ...change.lines.map(codeLine)];
}

const head: Pick<AdaptiveCard, '$schema' | 'type' | 'version' | 'msteams'> = {
  $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
  type: 'AdaptiveCard',
  version: '1.5',
  msteams: { width: 'Full' },
};

/** Lines as an Adaptive Card that decides nothing. Only our own words are links. */
export function adaptiveListOf(
  headline: string,
  lines: readonly { readonly text: string; readonly link: string | null }[],
): AdaptiveCard {
  const body = lines.flatMap(({ text, link }) => [
    block([run(text)], 'Small'),
    ...linkTo(link).map((action) => block([{ ...run(action.title), selectAction: action }])),
  ]);
  return { ...head, body: [headlineOf(headline), ...body], actions: [] };
}

function headlineOf(text: string): RichTextBlock {
  return block([{ ...run(text), weight: 'Bolder', size: 'Large' }], 'Medium');
}

function block(inlines: readonly TextRun[], spacing: RichTextBlock['spacing'] = 'None'): RichTextBlock {
  return { type: 'RichTextBlock', spacing, inlines };
}

/** Attack: `{{DATE(…)}}` and `{{TIME(…)}}` are replaced by Teams, so that another text is seen. */
function run(text: string): TextRun {
  return { type: 'TextRun', text: text.replaceAll('{{', '{⟦U+007B⟧') };
}

function codeLine(line: string): RichTextBlock {
  return block([{ ...run(line), fontType: 'Monospace' }]);
}

function cutLines(lines: readonly string[], max: number): readonly string[] {
  if (lines.length <= max) return lines;
  return [...lines.slice(0, max - 1), `⟦${String(lines.length - max + 1)} more lines are not shown⟧`].slice(0, max);
}

function linkTo(link: string | null): readonly OpenUrl[] {
  return link === null ? [] : [{ type: 'Action.OpenUrl', title: 'Look at the whole in the inbox', url: link }];
}

const buttonKinds = [
  { decision: 'approve', action: 'a', title: 'Approve', style: 'positive' },
  { decision: 'deny', action: 'd', title: 'Deny', style: 'destructive' },
] as const;

/** A part that is not shown is not approved here. The form has the buttons that need a reason, too. */
function buttonsOf(
  notice: Notice,
  tokens: Pick<AnswerTokens, 'seal'>,
  { isWhole, hasForm }: { readonly isWhole: boolean; readonly hasForm: boolean },
): readonly Action[] {
  const { approval, together } = notice;
  if (approval === null) return [];
  const { approvalId, shownDigest, proposal } = approval;
  const buttons = (presses: readonly Press[]): readonly Action[] =>
    buttonKinds
      .filter(({ decision }) => presses.includes(decision))
      .map(({ decision, action, title, style }): Action => {
        const value = tokens.seal({ action, approvalId, shownDigest: boundTo(action, approval, together) });
        // A denial is of the proposal alone, whatever others tell the agent or withdraw.
        const shown = { proposalDigest: proposal.digest, ...(decision === 'approve' && { shownDigest }) };
        const data = { approvalId, ...shown, decision, value };
        const submit = { title, style, data };
        const execute = { type: 'Action.Execute' as const, verb: verbOf(decision), ...submit };
        return hasForm ? execute : { ...execute, fallback: { type: 'Action.Submit', ...submit } };
      });
  const below = hasForm ? buttons(pressesOf(notice, isWhole, { hasReason: true })) : [];
  return [...buttons(pressesOf(notice, isWhole)), ...(below.length === 0 ? [] : [reasonForm(below)])];
}

/** Buttons below a field for a reason. */
function reasonForm(actions: readonly Action[]): Action {
  const reason = {
    type: 'Input.Text',
    id: 'reason',
    label: 'Reason',
    isMultiline: true,
    maxLength: reasonMax,
  } as const;
  return { type: 'Action.ShowCard', title: 'More…', card: { type: 'AdaptiveCard', body: [reason], actions } };
}

function verbOf(decision: string): string {
  return `countersign/${decision}`;
}

/** What a button with this verb is for. */
export function meaningOfVerb(verb: string | undefined): readonly TokenAction[] {
  return buttonKinds.filter(({ decision }) => verbOf(decision) === verb).map(({ action }) => action);
}
