import { lineSegments, markOf, replaceUnseen, segmentsOf, textOf } from '@countersign/text';

export { safeJson } from '@countersign/text';

/** Splits a text into code points, so that each can be marked. */
export function codePointsOf(text: string): string[] {
  return Array.from(text);
}

/** The lines of a foreign text, each printable. Line ends split; a tab is shown as `⇥` and two spaces. */
export function printableLines(text: string): string[] {
  const shown = textOf(segmentsOf(text.replaceAll('\r\n', '\n'), { partedBy: '\n\t', inLines: true }));
  return shown.replaceAll('\t', '⇥  ').split('\n');
}

/**
 * The last filter before the terminal. It marks every unprintable character that a view has missed; only our own escape
 * sequences pass.
 */
export function sealed(line: string): string {
  return replaceUnseen(line, markOf);
}

/** One line of a foreign text, with its indentation; a tab is shown as `⇥` and two spaces. */
export function printableLine(line: string): string {
  return textOf(lineSegments(line)).replaceAll('\t', '⇥  ');
}
