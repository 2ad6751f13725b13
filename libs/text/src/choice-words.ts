import { withoutTwins } from './confusable.js';
import type { JsonValue } from './json-members.js';
import { markOf, printable } from './marks.js';

const charactersMax = 200;

/**
 * The options of a choice in words that tell each from every other: a text has quotes, spaces at its ends and in a row are
 * counted, and where two options look alike, each has its place, and its characters beyond ASCII are named.
 *
 * @example
 * choiceWords([1, '1', 'a ']); // ['1', '“1”', '“a⟦1 space⟧”']
 */
export function choiceWords(choices: readonly JsonValue[]): readonly string[] {
  const words = choices.map(wordsOf);
  const alike = new Map<string, Set<string>>();
  const skeletons = words.map(skeletonOf);
  skeletons.forEach((skeleton, index) => {
    alike.set(skeleton, (alike.get(skeleton) ?? new Set()).add(JSON.stringify(choices[index])));
  });
  return words.map((one, index) => {
    if ((alike.get(skeletons[index] ?? '')?.size ?? 0) < 2) return one;
    const spelled = one.replaceAll(/[^\x20-\x7e“”…⟦⟧]/gu, markOf);
    return `${spelled} ⟦option ${String(index + 1)} of ${String(choices.length)}; another one looks like it⟧`;
  });
}

function wordsOf(choice: JsonValue): string {
  if (typeof choice !== 'string') return printable(JSON.stringify(choice), charactersMax);
  const shown = printable(choice, charactersMax).replaceAll(/^ +| +$| {2,}/g, ({ length }) => {
    return `⟦${String(length)} ${length === 1 ? 'space' : 'spaces'}⟧`;
  });
  return `“${shown}”`;
}

/** The same for texts that look alike in common fonts: also `l`, `I`, `1` and `|`, and `O` and `0`. */
function skeletonOf(words: string): string {
  return withoutTwins(words.normalize('NFKC'))
    .replaceAll(/[I1|]/g, 'l')
    .replaceAll('0', 'O')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w');
}
