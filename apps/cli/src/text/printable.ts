/**
 * What a terminal would not show as a letter: control characters and escape sequences, bidi and other format
 * characters, zero-width and ignorable ones, odd spaces, private-use and unassigned code points, lone surrogates.
 * `⟦` is among them, so that no text can pass for a mark of ours.
 */
const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}⟦]|(?! )\p{Zs}/u;
const unseenAnywhere = new RegExp(unseen.source, 'gu');
const combining = /\p{M}/u;
const combiningRunMax = 3;

/** The visible mark of a character that is not shown as itself: `⟦U+202E⟧`. */
export function markOf(character: string): string {
  const codePoint = character.codePointAt(0) ?? 0;
  return `⟦U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}⟧`;
}

/** A text as its code points: what can be marked one by one. */
export function codePointsOf(text: string): string[] {
  return Array.from(text);
}

/** Limits of one text. Whatever is left out is counted in a visible note. */
export interface PrintableOptions {
  /** At most so many characters of the text are shown. */
  readonly charactersMax?: number;
}

/**
 * The one way of a foreign text to the terminal: a single line in which every character is seen. What the terminal
 * would obey, hide or reorder becomes a mark such as `⟦U+202E⟧`, and so does a letter that poses as a Latin one.
 *
 * @example
 * printable('ok\u001b[2J'); // 'ok⟦U+001B⟧[2J'
 */
export function printable(text: string, options: PrintableOptions = {}): string {
  const { charactersMax = Number.POSITIVE_INFINITY } = options;
  const characters = codePointsOf(text);
  const shown = characters.slice(0, charactersMax);
  const posing = posingLetters(shown.join(''));
  let out = '';
  let combined = 0;
  shown.forEach((character, index) => {
    combined = combining.test(character) ? combined + 1 : 0;
    // Stacked without limit, combining characters paint over the lines above; without a base they cling to our text.
    const clings = combined > combiningRunMax || (combined > 0 && combined === index + 1);
    out += unseen.test(character) || clings || posing.has(index) ? markOf(character) : character;
  });
  const left = characters.length - shown.length;
  return left > 0 ? `${out}…⟦${left.toLocaleString('en-US')} more characters⟧` : out;
}

/** The lines of a foreign text, each printable. Line ends split; a tab is shown as `⇥` and two spaces. */
export function printableLines(text: string): string[] {
  return text.split(/\r\n|\n/).map((line) =>
    line
      .split('\t')
      .map((part) => printable(part))
      .join('⇥  '),
  );
}

/**
 * The last gate before the terminal, for lines that we composed out of printable parts: whatever a part forgot to mark
 * is marked here. Only our own marks pass.
 */
export function sealed(line: string): string {
  return line.replaceAll(unseenAnywhere, (character) => (character === '⟦' ? character : markOf(character)));
}

/** JSON for programs, harmless on a terminal: what `printable` would mark is written as `\uXXXX`, the same value. */
export function safeJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) as string | undefined;
  return (text ?? 'null').replaceAll(unseenAnywhere, (character) =>
    // A line end stands between the values (`indent`), never inside a string, where JSON escapes it.
    character === '\n' || character === '⟦' ? character : escapeOf(character),
  );
}

function escapeOf(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }).join('');
}

const cyrillicTwins = 'аеорсухіјѕԛԝһӏԁѵАВЕКМНОРСТХІЈЅԚԜҮӀ';
const greekTwins = 'ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονϲϳ';
const armenianTwins = 'ոսօցհԼՏՍՕ';
const twins = new Set(`${cyrillicTwins}${greekTwins}${armenianTwins}`);
const latin = /\p{Script=Latin}/u;
const otherAlphabet = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]/u;

/**
 * The attack: `/еtc/hosts` with a Cyrillic е, or a whole host name in letters that look Latin. A look-alike poses as
 * Latin inside a word with Latin letters, and anywhere in a text that is otherwise Latin. In an honest Russian or
 * Greek text nothing is marked. It knows the common look-alikes, not all.
 */
function posingLetters(text: string): ReadonlySet<number> {
  const posing = new Set<number>();
  const characters = codePointsOf(text);
  if (!characters.some((character) => twins.has(character)) || !latin.test(text)) return posing;
  const honest = characters.some((character) => otherAlphabet.test(character) && !twins.has(character));
  let start = 0;
  for (const word of text.split(/(?<=[^\p{L}\p{M}\p{N}])|(?=[^\p{L}\p{M}\p{N}])/u)) {
    const letters = codePointsOf(word);
    if (!honest || latin.test(word)) {
      letters.forEach((letter, index) => {
        if (twins.has(letter)) posing.add(start + index);
      });
    }
    start += letters.length;
  }
  return posing;
}
