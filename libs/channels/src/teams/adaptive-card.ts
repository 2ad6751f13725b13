import { agentWordsLabel, cardOf } from '../card/card.js';
import { pressesOf } from '../card/presses.js';
import type { AnswerTokens } from '../answer-token.js';
import type { Notice } from '../channel.js';

const argumentsMax = 2_000;
/** A card has at most 100 KB in Teams, and each line is an element of its own. */
const argumentLinesMax = 100;
const wordLinesMax = 20;
/** The newest responses, as in the other chats. */
const statusMax = 8;

interface TextRun {
  readonly type: 'TextRun';
  readonly text: string;
  readonly weight?: 'Bolder';
  readonly size?: 'Large';
  readonly fontType?: 'Monospace';
}

/** Text runs are no Markdown, so no text can inject a link, a mention or a format. */
interface RichTextBlock {
  readonly type: 'RichTextBlock';
  readonly spacing: 'None' | 'Small' | 'Medium';
  readonly inlines: readonly TextRun[];
}

interface Submit {
  readonly title: string;
  readonly style: 'positive' | 'destructive';
  readonly data: Readonly<Record<string, string>>;
}

type Action =
  | (Submit & { readonly type: 'Action.Submit' })
  | (Submit & { readonly type: 'Action.Execute'; readonly verb: string; readonly fallback: Action })
  | { readonly type: 'Action.OpenUrl'; readonly title: string; readonly url: string };

/** An Adaptive Card 1.5. */
export interface AdaptiveCard {
  readonly $schema: 'http://adaptivecards.io/schemas/adaptive-card.json';
  readonly type: 'AdaptiveCard';
  readonly version: '1.5';
  readonly msteams: { readonly width: 'Full' };
  readonly body: readonly RichTextBlock[];
  readonly actions: readonly Action[];
}

/**
 * A notice as an Adaptive Card, without buttons when there is nothing to decide. The data of a button are the approval, the
 * digests of what is shown, the decision, and the token.
 */
export function adaptiveCardOf(
  notice: Notice,
  tokens: Pick<AnswerTokens, 'seal'>,
  publicUrl: string | null,
): AdaptiveCard {
  const card = cardOf(notice, argumentsMax, publicUrl);
  const args = cutLines(card.argumentLines, argumentLinesMax);
  const isWhole = card.isWhole && args.length === card.argumentLines.length;
  return {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    ...{ type: 'AdaptiveCard', version: '1.5', msteams: { width: 'Full' } },
    body: [
      block([{ ...run(card.headline), weight: 'Bolder', size: 'Large' }], 'Medium'),
      ...card.status.slice(-statusMax).map((line) => block([run(line)])),
      ...card.facts.map(([label, text]) => block([{ ...run(`${label}: `), weight: 'Bolder' }, run(text)])),
      ...card.warnings.map((warning) => block([{ ...run(`⚠ ${warning}`), weight: 'Bolder' }], 'Small')),
      block([{ ...run('Arguments:'), weight: 'Bolder' }], 'Medium'),
      ...args.map(codeLine),
      ...(card.agentWords.length === 0 ? [] : [block([{ ...run(`${agentWordsLabel}:`), weight: 'Bolder' }], 'Medium')]),
      ...card.agentWords.flatMap(([label, text]) => [
        block([run(`${label}:`)], 'Small'),
        ...cutLines(text.split('\n'), wordLinesMax).map(codeLine),
      ]),
    ],
    actions: [...(card.isOpen ? buttonsOf(notice, tokens, isWhole) : []), ...linkTo(card.link)],
  };
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

function linkTo(link: string | null): readonly Action[] {
  return link === null ? [] : [{ type: 'Action.OpenUrl', title: 'Look at the whole in the inbox', url: link }];
}

const buttonKinds = [
  { decision: 'approve', action: 'a', title: 'Approve', style: 'positive' },
  { decision: 'deny', action: 'd', title: 'Deny', style: 'destructive' },
] as const;

/** A part that is not shown is not approved here. */
function buttonsOf(notice: Notice, tokens: Pick<AnswerTokens, 'seal'>, isWhole: boolean): readonly Action[] {
  const { approval } = notice;
  if (approval === null) return [];
  const { approvalId, shownDigest, proposal } = approval;
  const presses = pressesOf(notice, isWhole);
  return buttonKinds
    .filter(({ decision }) => presses.includes(decision))
    .map(({ decision, action, title, style }): Action => {
      const value = tokens.seal({ action, approvalId, shownDigest });
      const data = { approvalId, proposalDigest: proposal.digest, shownDigest, decision, value };
      const submit = { title, style, data };
      const verb = `countersign/${decision}`;
      return { type: 'Action.Execute', verb, ...submit, fallback: { type: 'Action.Submit', ...submit } };
    });
}
