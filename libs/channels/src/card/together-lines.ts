import { chainWords, hiddenIn, hiddenWords, labelWords, nameWords, schemaNoteWords } from '@countersign/text';
import type { Notice } from '../channel.js';
import { argumentLines } from './argument-lines.js';
import { changeLines } from './change-lines.js';

type Lines = ReturnType<typeof argumentLines>;

type Together = NonNullable<Notice['together']>[number];

/**
 * The lines of a call, and those of each call about which the same response decides. `charactersMax` holds for all of them
 * together: a card that cuts one of them approves none.
 */
export function withTogether(own: Lines, { together = [] }: Notice, charactersMax: number): Lines {
  return together.reduce((before: Lines, question) => {
    const head = headOf(question);
    const left = charactersMax - [...before.lines, ...head].reduce((sum, line) => sum + line.length + 1, 0);
    const { approval } = question;
    const added = argumentLines(approval.arguments, Math.max(0, left), approval);
    return {
      lines: [...before.lines, ...head, ...added.lines, ...changeOf(question)],
      posing: before.posing + added.posing,
      hidden: before.hidden + added.hidden,
      isCut: before.isCut || added.isCut || left < 0,
    };
  }, own);
}

/** What a person has changed, as below the arguments of a card about one call. It is short, and nobody agrees to it. */
function changeOf(question: Together): readonly string[] {
  const change = changeLines(question);
  return change === undefined ? [] : [`(${change.headline}:)`, ...change.lines];
}

/** No argument can look like these lines: its text has quotes around it, and its line ends are escapes. */
function headOf({ approval }: Together): string[] {
  const { toolName, labels, chain, requestedBy, schemaNotes } = approval;
  const notes = [
    Object.keys(labels).length === 0 ? '' : `labels: ${labelWords(labels)}`,
    chain.length === 0 ? '' : `inside: ${chainWords(chain, requestedBy)}`,
    hiddenWords(hiddenIn(approval)),
    schemaNoteWords(schemaNotes),
  ].filter((note) => note !== '');
  return ['', `And ${nameWords(toolName)} with`, ...notes.map((note) => `(${note})`)];
}
