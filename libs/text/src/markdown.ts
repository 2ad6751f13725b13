/**
 * Puts one line of a foreign text into a message that a client may show as plain text or as Markdown: as code, in which Markdown obeys
 * nothing. The attack: a name or a value that is a link, a picture or a comment there, so that something else is read than what runs.
 * Spaces of which a page would show one are marked. The line goes through `printable` first; an empty one stays empty.
 *
 * @example
 * inCode('rm *.log'); // '`rm *.log`'
 */
export function inCode(line: string): string {
  if (line === '') return '';
  const text = line.replaceAll(/ {2,}/g, (spaces) => `⟦${String(spaces.length)} spaces⟧`);
  const runs = Array.from(line.matchAll(/`+/g), ([run]) => run.length);
  const fence = '`'.repeat(Math.max(0, ...runs) + 1);
  // Markdown takes one space away at both ends.
  const padding = /^`|`$|^ .* $/.test(text) ? ' ' : '';
  return `${fence}${padding}${text}${padding}${fence}`;
}

/** Joins lines that stay lines in Markdown too, where a line end alone is a space. */
export function linesOf(lines: readonly string[]): string {
  return lines.join('  \n');
}
