import type { KnownBlock } from '@slack/web-api';

/** Slack accepts 3,000 characters per section; escaping lengthens a text. */
export const sectionMax = 2_900;
/** Room for escapes and marks in the section of the arguments. */
export const argumentsMax = 2_000;

/** The three characters with a meaning in mrkdwn. */
export function escapedMrkdwn(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A text in a fence that nothing in it can close. */
function fenced(text: string): string {
  const closed = escapedMrkdwn(text).replaceAll('```', '⟦U+0060⟧⟦U+0060⟧⟦U+0060⟧');
  return `\`\`\`\n${closed}\n\`\`\``;
}

/** A text of at most `max` characters. It is cut visibly. */
export function cut(text: string, max: number): string {
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
