import type { ApprovalView } from '@countersign/contracts';
import { denialWords, labelWords, questionWords, segmentsOf } from '@countersign/text';
import { argumentLines } from '../card/argument-lines.js';
import { whyElsewhere } from '../card/presses.js';
import { argumentsMax, isWholeAsCode, sectionMax } from './sections.js';

/** Slack accepts 3,000 characters as the initial value of an input. */
const inputMax = 3_000;

/** What the form of "More…" shows of an approval. */
export interface FormContent {
  readonly question: string;
  readonly shownArguments: string;
  /** False: a part of the question or the arguments is not shown. */
  readonly isWhole: boolean;
  /** The arguments to edit; undefined: they are too long to edit here. */
  readonly args: string | undefined;
}

/** The content of the form. */
export function formOf(approval: ApprovalView): FormContent {
  const { lines, isCut } = argumentLines(approval.arguments, argumentsMax, approval);
  const shownArguments = lines.join('\n');
  const question = askedWords(approval);
  const isWhole = !isCut && isWholeAsCode(shownArguments) && question.length <= sectionMax;
  return { question, shownArguments, isWhole, args: editable(approval.arguments) };
}

/** The decisions that the form can bring. Slack refuses a choice without options, so a form without one is not offered. */
export function formDecisions(approval: ApprovalView): readonly ('approve' | 'edit' | 'deny')[] {
  if (whyElsewhere(approval, 'approve', { hasReason: true }) !== undefined) return [];
  const { question, isWhole, args } = formOf(approval);
  const isPossible = { approve: isWhole, edit: args !== undefined && question.length <= sectionMax, deny: true };
  return (['approve', 'edit', 'deny'] as const).filter(
    (decision) => approval.allowedDecisions.includes(decision) && isPossible[decision],
  );
}

/** The question, the labels, which have the folder and the server of the call, and what a denial does besides. */
function askedWords({ toolName, labels, proposal, requirement }: ApprovalView): string {
  const facts = Object.entries({ Labels: labelWords(labels), 'A denial': denialWords(requirement) });
  const lines = facts.flatMap(([label, words]) => (words === '' ? [] : [`${label}: ${words}`]));
  return [questionWords(toolName, proposal), ...lines].join('\n');
}

/**
 * The same value as JSON in which every character that the card marks is its escape. The field may be the only place that
 * shows the end of a long text. Undefined: too long to edit here.
 */
function editable(args: ApprovalView['arguments']): string | undefined {
  const text = JSON.stringify(args, null, 2).replaceAll(/"(?:[^"\\]|\\.)*"/g, (literal) =>
    segmentsOf(literal)
      .map((segment) => (segment.kind === 'mark' ? escapesOf(segment.character) : segment.text))
      .join(''),
  );
  return text.length <= inputMax ? text : undefined;
}

function escapesOf(text: string): string {
  return Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
    '',
  );
}
