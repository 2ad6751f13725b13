/**
 * Cyrillic, Greek and Armenian letters that look like Latin ones in common fonts, and signs that look like those of paths,
 * addresses and commands. The usual ones, not all.
 */
const posing = '⁄∕․꞉∣∗∼‐‑‚ꞌЗͿϜϹаеорсухіјѕԛԝһӏԁѵАВЕКМНОРСТХІЈЅԚԜҮӀΑΒΕΖΗΙΚΜΝΟΡΤΥΧονϲϳոսօցհԼՏՍՕ';
/** What they look like, each at its place. */
const posedAs = "//.:|*~--,'3JFCaeopcyxijsqwhldvABEKMHOPCTXIJSQWYlABEZHIKMNOPTYXovcjnuoghLSUO";
const twins = new Map(Array.from(posing, (letter, index) => [letter, posedAs.charAt(index)]));
/** The letters and digits of a fixed width of mathematics: each looks exactly like one of ASCII. */
const monospace = /[\u{1d670}-\u{1d6a3}\u{1d7f6}-\u{1d7ff}]/u;
const latin = /[\p{Script=Latin}\u{1d670}-\u{1d6a3}\u{1d7f6}-\u{1d7ff}]/u;
const otherAlphabet = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]/u;
const inWord = /[\p{L}\p{M}\p{N}]/u;

/** Adjacent characters, and their position in the text. */
interface Run {
  readonly start: number;
  readonly characters: readonly string[];
}

/**
 * Finds letters that look like Latin ones. Attack: `/еtc/hosts` with a Cyrillic е, or a whole host name or word in look-alike
 * letters (the whole-script confusables of Unicode TS 39). A look-alike is marked inside a word with Latin letters, and in a
 * text whose only foreign letters are look-alikes. A Russian or Greek text with one other letter is not marked. The text between
 * two characters of `partedBy` is also judged separately, so that an honest line does not hide the next one.
 */
export function confusableLetters(characters: readonly string[], partedBy: string): ReadonlySet<number> {
  const whole = { start: 0, characters };
  const parts = partedBy === '' ? [] : runsOf(whole, (character) => partedBy.includes(character));
  return new Set([whole, ...parts].flatMap(posingIn));
}

function posingIn(run: Run): number[] {
  if (!run.characters.some(isTwin)) return [];
  const foreign = run.characters.filter((character) => otherAlphabet.test(character));
  // Signs alone, as in `5∕3`.
  if (foreign.length === 0 && !hasLatin(run)) return [];
  const isHonest = foreign.some((character) => !isTwin(character));
  const judged = isHonest ? runsOf(run, (character) => !inWord.test(character) && !isTwin(character)) : [run];
  return judged.flatMap((part) => {
    const { start, characters } = part;
    const poses = !isHonest || hasLatin(part) ? isTwin : isDigitIn(characters);
    return characters.flatMap((character, index) => {
      // Before a word it is an honest quotation mark of German.
      const isQuote = character === '‚' && !inWord.test(characters[index - 1] ?? '');
      return poses(character) && !isQuote ? [start + index] : [];
    });
  });
}

function isTwin(character: string): boolean {
  return twins.has(character) || monospace.test(character);
}

/** A word without Latin letters poses only as a number. */
function isDigitIn(characters: readonly string[]): (character: string) => boolean {
  const isNumber = characters.some((character) => /\d/.test(character));
  return (character) => isNumber && character === 'З';
}

function hasLatin({ characters }: Run): boolean {
  return characters.some((character) => latin.test(character));
}

/** The runs between the characters that part them. */
function runsOf({ start, characters }: Run, isParting: (character: string) => boolean): Run[] {
  const runs: Run[] = [];
  let from = 0;
  for (let index = 0; index <= characters.length; index += 1) {
    const character = characters[index];
    if (character !== undefined && !isParting(character)) continue;
    if (index > from) runs.push({ start: start + from, characters: characters.slice(from, index) });
    from = index + 1;
  }
  return runs;
}

/** The text with each look-alike as the letter or sign that it looks like. */
export function withoutTwins(text: string): string {
  return Array.from(text, (character) => twins.get(character) ?? character).join('');
}
