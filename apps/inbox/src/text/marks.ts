/** A piece of a foreign text: as it is, or a mark that stands for a character nobody would see. */
export interface Segment {
  readonly kind: 'text' | 'mark';
  readonly text: string;
  /** What the mark stands for, in words. */
  readonly why?: string;
}

/**
 * What a browser would not show as a letter: control characters, bidi and other format characters, zero-width and
 * ignorable ones, odd spaces, private-use and unassigned code points, lone surrogates. `⟦` is among them, so that no text
 * can pass for a mark of ours.
 */
const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}⟦]|(?! )\p{Zs}/u;
const combining = /\p{M}/u;
const combiningRunMax = 3;
const latin = /\p{Script=Latin}/u;
const otherAlphabet = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]/u;
const twins = new Set('аеорсухіјѕԛԝһӏԁѵАВЕКМНОРСТХІЈЅԚԜҮӀΑΒΕΖΗΙΚΜΝΟΡΤΥΧονϲϳոսօցհԼՏՍՕ');

/**
 * The one way of a foreign text to the page: what the browser would obey, hide or reorder becomes a mark such as
 * `⟦U+202E⟧`, and so does a letter that poses as a Latin one. Line ends and tabs stay where `keepsLines` says so.
 */
export function segmentsOf(text: string, options: { readonly keepsLines?: boolean } = {}): readonly Segment[] {
  const segments: Segment[] = [];
  const characters = Array.from(text);
  const posing = posingLetters(text, characters);
  let plain = '';
  let combined = 0;
  const flush = (): void => {
    if (plain !== '') segments.push({ kind: 'text', text: plain });
    plain = '';
  };
  characters.forEach((character, index) => {
    combined = combining.test(character) ? combined + 1 : 0;
    // Stacked without limit, combining characters paint over the lines above; without a base they cling to our text.
    const clings = combined > combiningRunMax || (combined > 0 && combined === index + 1);
    const isLine = options.keepsLines === true && (character === '\n' || character === '\t');
    const why = isLine ? undefined : reasonOf(character, clings, posing.has(index));
    if (why === undefined) {
      plain += character;
      return;
    }
    flush();
    segments.push({ kind: 'mark', text: markOf(character), why });
  });
  flush();
  return segments;
}

/** A foreign text with its marks, for where only plain text goes: titles, labels, options. */
export function printable(text: string, charactersMax = Number.POSITIVE_INFINITY): string {
  const characters = Array.from(text);
  const shown = segmentsOf(characters.slice(0, charactersMax).join(''));
  const left = characters.length - charactersMax;
  const words = shown.map((segment) => segment.text).join('');
  return left > 0 ? `${words}…⟦${left.toLocaleString('en-US')} more characters⟧` : words;
}

/** The visible mark of a character that is not shown as itself: `⟦U+202E⟧`. */
export function markOf(character: string): string {
  const codePoint = character.codePointAt(0) ?? 0;
  return `⟦U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}⟧`;
}

function reasonOf(character: string, clings: boolean, poses: boolean): string | undefined {
  if (poses) return `This is “${character}”, which only looks like a Latin letter`;
  if (clings) return 'A combining character that would paint over other text';
  return unseen.test(character) ? 'A character that would be invisible or change how the text reads' : undefined;
}

/**
 * The attack: `/еtc/hosts` with a Cyrillic е, or a whole host name in letters that look Latin. A look-alike poses as
 * Latin inside a word with Latin letters, and anywhere in a text that is otherwise Latin. In an honest Russian or
 * Greek text nothing is marked. It knows the common look-alikes, not all.
 */
function posingLetters(text: string, characters: readonly string[]): ReadonlySet<number> {
  const posing = new Set<number>();
  if (!latin.test(text) || !characters.some((character) => twins.has(character))) return posing;
  const isHonest = characters.some((character) => otherAlphabet.test(character) && !twins.has(character));
  let start = 0;
  for (const word of text.split(/(?<=[^\p{L}\p{M}\p{N}])|(?=[^\p{L}\p{M}\p{N}])/u)) {
    const letters = Array.from(word);
    if (!isHonest || latin.test(word)) {
      letters.forEach((letter, index) => {
        if (twins.has(letter)) posing.add(start + index);
      });
    }
    start += letters.length;
  }
  return posing;
}
