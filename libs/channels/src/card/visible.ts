/**
 * What a reader would not see as a letter: control, format and bidi characters, zero-width and ignorable ones, odd
 * spaces, private-use and unassigned code points, lone surrogates. `⟦` is among them, so that no text passes for a mark.
 */
const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}⟦]|(?! )\p{Zs}/u;
const combining = /\p{M}/u;
const combiningRunMax = 3;

/** The visible mark of a character that is not shown as itself: `⟦U+202E⟧`. */
export function markOf(character: string): string {
  const codePoint = character.codePointAt(0) ?? 0;
  return `⟦U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}⟧`;
}

/** A foreign text in which every character is seen. */
export interface Visible {
  readonly text: string;
  /** Letters of another alphabet that pose as Latin ones; each is marked. */
  readonly posing: number;
  /** Characters that would not have been seen; each is marked. */
  readonly hidden: number;
}

/** Marks what would be obeyed, hidden or reordered, and letters that pose as Latin ones. One line comes out as one line. */
export function look(text: string): Visible {
  const characters = Array.from(text);
  const posing = posingLetters(characters);
  let out = '';
  let combined = 0;
  let hidden = 0;
  characters.forEach((character, index) => {
    combined = combining.test(character) ? combined + 1 : 0;
    // Stacked without limit they paint over the lines around; without a base they cling to our own text.
    const clings = combined > combiningRunMax || (combined > 0 && combined === index + 1);
    const isHidden = unseen.test(character) || clings;
    if (isHidden) hidden += 1;
    out += isHidden || posing.has(index) ? markOf(character) : character;
  });
  return { text: out, posing: posing.size, hidden };
}

/** The text of `look`, cut to `charactersMax` of its characters with a visible note of what is left out. */
export function visible(text: string, charactersMax = Number.POSITIVE_INFINITY): string {
  if (text.length <= charactersMax) return look(text).text;
  const characters = Array.from(text);
  const left = characters.length - charactersMax;
  if (left <= 0) return look(text).text;
  return `${look(characters.slice(0, charactersMax).join('')).text}…⟦${countOf(left)} more characters⟧`;
}

/** A number as people read it. */
export function countOf(count: number): string {
  return count.toLocaleString('en-US');
}

/** Cyrillic, Greek and Armenian letters that look like Latin ones in common fonts: the usual ones, not all. */
const twins = new Set('аеорсухіјѕԛԝһӏԁѵАВЕКМНОРСТХІЈЅԚԜҮӀΑΒΕΖΗΙΚΜΝΟΡΤΥΧονϲϳոսօցհԼՏՍՕ');
const latin = /\p{Script=Latin}/u;
const otherAlphabet = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]/u;
const inWord = /[\p{L}\p{M}\p{N}]/u;

/**
 * Attack: `/еtc/hosts` with a Cyrillic е. A look-alike poses as Latin in a word that has Latin letters, and anywhere in a
 * text whose only foreign letters are look-alikes. In an honest Russian or Greek text nothing is marked.
 */
function posingLetters(characters: readonly string[]): ReadonlySet<number> {
  const suspects = characters.flatMap((character, index) => (twins.has(character) ? [index] : []));
  if (suspects.length === 0 || !characters.some((character) => latin.test(character))) return new Set();
  const isHonest = characters.some((character) => otherAlphabet.test(character) && !twins.has(character));
  if (!isHonest) return new Set(suspects);
  return new Set(suspects.filter((index) => wordAround(characters, index).some((letter) => latin.test(letter))));
}

function wordAround(characters: readonly string[], index: number): readonly string[] {
  let [start, end] = [index, index];
  while (start > 0 && inWord.test(characters[start - 1] ?? '')) start -= 1;
  while (end < characters.length && inWord.test(characters[end] ?? '')) end += 1;
  return characters.slice(start, end);
}
