import type { DiffLine } from './line-diff.js';

/** `@@ -1,4 +1,3 @@`: the numbers say how many lines of the hunk each side has. */
const hunkHeader = /^@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@/;

/**
 * The lines of a patch. Only a line of a hunk is removed, added or kept, and its first character says which; every other
 * line stands as it is. So `--- a` is a heading outside a hunk, and in one it removes `-- a`.
 */
export function patchLines(lines: readonly string[]): DiffLine[] {
  let before = 0;
  let after = 0;
  return lines.map((text): DiffLine => {
    const kind = before > 0 || after > 0 ? kindIn(text, before, after) : undefined;
    if (kind === undefined) {
      // The mark of a missing line end counts nothing; any other foreign line ends the hunk.
      if (!text.startsWith('\\')) [before, after] = hunkOf(text);
      return { kind: '@', text };
    }
    if (kind !== '+') before -= 1;
    if (kind !== '-') after -= 1;
    // An empty line stands for a kept one whose space was lost.
    return text === '' ? { kind: '@', text } : { kind, text: text.slice(1) };
  });
}

function kindIn(text: string, before: number, after: number): '+' | '-' | ' ' | undefined {
  if (text.startsWith('+')) return after > 0 ? '+' : undefined;
  if (text.startsWith('-')) return before > 0 ? '-' : undefined;
  return (text === '' || text.startsWith(' ')) && before > 0 && after > 0 ? ' ' : undefined;
}

function hunkOf(text: string): [before: number, after: number] {
  const found = hunkHeader.exec(text);
  return found === null ? [0, 0] : [Number(found[1] ?? 1), Number(found[2] ?? 1)];
}
