/**
 * Cyrillic, Greek and Armenian letters that look like Latin ones in common fonts, and signs that look like those of paths,
 * addresses and commands. The usual ones, not all.
 */
const posing = '⁄∕․꞉∣∗∼аеорсухіјѕԛԝһӏԁѵАВЕКМНОРСТХІЈЅԚԜҮӀΑΒΕΖΗΙΚΜΝΟΡΤΥΧονϲϳոսօցհԼՏՍՕ';
/** What they look like, each at its place. */
const posedAs = '//.:|*~aeopcyxijsqwhldvABEKMHOPCTXIJSQWYlABEZHIKMNOPTYXovcjnuoghLSUO';
const twins = new Map(Array.from(posing, (letter, index) => [letter, posedAs.charAt(index)]));
const latin = /\p{Script=Latin}/u;
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
  const judged = isHonest ? runsOf(run, (character) => !inWord.test(character)).filter(hasLatin) : [run];
  return judged.flatMap(({ start, characters }) =>
    characters.flatMap((character, index) => (isTwin(character) ? [start + index] : [])),
  );
}

function isTwin(character: string): boolean {
  return twins.has(character);
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
