/** The blocks of Unicode in which letters are written from right to left. */
const blocks = '[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufeff\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}]';
const letter = `(?![\\p{M}\\p{N}])${blocks}\\p{M}*`;
/** What stands between two words of a sentence, or inside of a word: the same from both ends. */
const joint = `[,.;:!?]? +[,.;:!?]?|["'-]`;
const run = new RegExp(`(${letter}(?:(?:${joint})?${letter})*|(?:(?=\\p{N})${blocks})+)`, 'u');

/**
 * Splits a text at its runs of right-to-left letters or digits: every second part is one. A view that isolates each run shows all
 * other characters at their places. The attack: `mv א 1` and `mv 1 א` are the same on screen, because numbers and signs beside such
 * a letter are moved.
 */
export function rightToLeftParts(text: string): readonly string[] {
  return text.split(run);
}

/** The warning where a view cannot isolate them. */
export const orderWarning =
  'Text that is written from right to left: the order of numbers and signs beside it may differ on your screen';

/** Returns whether a screen moves numbers or signs of a line, because they stand behind right-to-left letters or between them. */
export function isReordered(line: string): boolean {
  const parts = rightToLeftParts(line);
  return parts.some((part, index) => {
    if (index % 2 === 1 || index === 0) return false;
    return /^[^\p{L}]*\p{N}/u.test(part) || (index < parts.length - 1 && !/\p{L}/u.test(part));
  });
}
