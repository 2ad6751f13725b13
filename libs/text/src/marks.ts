import { blankRuns, hasBlankRun, type BlankOptions } from './blank-runs.js';
import { confusableLetters } from './confusable.js';

/**
 * Characters that a reader does not see as letters: control characters and escape sequences, bidi and other format
 * characters, zero-width and ignorable ones, unusual spaces, symbols without ink (such as the blank Braille pattern and the
 * placeholder of an object), private-use and unassigned code points, lone surrogates.
 */
const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}]|(?! )\p{Zs}/u;
const unseenAnywhere = new RegExp(unseen.source, 'gu');
/** The first character of our marks. In a foreign text it is marked itself, so that no text can imitate a mark. */
const ours = '⟦';
/** They stand in the cluster of the character before them. */
const combining = /[\p{M}\p{Emoji_Modifier}\uff9e\uff9f\u0e33\u0eb3]/u;
/** Parts of a Hangul syllable. A run of them is one cluster. */
const syllablePart = /[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]/;
/** What follows them stands in their cluster. */
const prepended =
  /[\u0d4e\u{111c2}\u{111c3}\u{113d1}\u{1193f}\u{11941}\u{11a3a}\u{11a84}-\u{11a89}\u{11d46}\u{11f02}]/u;
/** Between two letters they make one of both (`Indic_Conjunct_Break=Linker`). */
const linker =
  /[\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d\u1039\u17d2\u1a60\u1b44\u1bab\ua9c0\uaaf6\u{10a3f}\u{11133}\u{113d0}\u{1193e}\u{11a47}\u{11a99}\u{11f42}]/u;
/** Letters linked to one before them: in Sanskrit there are four. */
const linksMax = 4;
/** In fonts that have them they are as wide as many letters. */
const veryWide = /[\ufdfd\u{12031}\u{12219}\u{1242b}]/u;
/** Everything except printable ASCII; nothing else is ever marked. */
const beyondAscii = /[^\x20-\x7e]/gu;
const combiningRunMax = 3;
/** They are drawn like a `_` and a `~`. */
const combiningSigns = /[\u0332\u0334]/;

/**
 * Why a character is marked: it is invisible or changes how the text reads (`unseen`), it overlays other text
 * (`clinging`), or it only looks like another character (`posing`). `blank`: a run of spaces or empty lines, behind which a
 * text is easily missed.
 */
export type MarkReason = 'unseen' | 'clinging' | 'posing' | 'blank';

/** A piece of a foreign text: unchanged, or the mark of one of its characters, or of a run of blank ones. */
export type Segment =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'mark'; readonly text: string; readonly character: string; readonly reason: MarkReason };

/** The options of splitting a text into segments. */
export interface SegmentOptions {
  /**
   * Characters that separate parts of the text, such as line ends. They are returned unchanged, and each part is judged
   * separately as well as in the whole.
   */
  readonly partedBy?: string;
  /** True for a text that is shown line by line: blanks at the end of a line are marked, whatever their number. Default: false. */
  readonly inLines?: boolean;
  /** True for a text whose rows end between words: two blanks and more are marked, and those at its ends. Default: false. */
  readonly inWords?: boolean;
}

/**
 * Every foreign text passes through here before people see it: what would be obeyed, hidden or reordered becomes a mark such
 * as `⟦U+202E⟧`, and so does a letter that poses as a Latin one, and a run of blanks such as `⟦240 spaces⟧`. No two texts
 * have the same segments.
 *
 * @example
 * segmentsOf('ok\u001b[2J').map(({ text }) => text); // ['ok', '⟦U+001B⟧', '[2J']
 */
export function segmentsOf(text: string, given: SegmentOptions = {}): readonly Segment[] {
  const options = { partedBy: '', inLines: false, inWords: false, ...given };
  const { partedBy } = options;
  if (isPlain(text, options)) return text === '' ? [] : [{ kind: 'text', text }];
  const segments: Segment[] = [];
  const characters = Array.from(text);
  const posing = confusableLetters(characters, partedBy);
  const runs = blankRuns(characters, options);
  // No part of a canonical text equals another text.
  const equals = equalsAnother(text) ? equalsAnother : () => false;
  let plain = '';
  let combined = 0;
  let links = 0;
  // The character before, unless it is marked.
  let previous = '';
  // The base of a combining character, with those that it has; without one it would attach to our own text or to a mark.
  let cluster = '';
  const flush = (): void => {
    if (plain !== '') segments.push({ kind: 'text', text: plain });
    plain = '';
  };
  let runEnd = 0;
  characters.forEach((character, index) => {
    if (index < runEnd) return;
    const run = runs.get(index);
    if (run !== undefined) {
      flush();
      runEnd = run.end;
      cluster = '';
      previous = '';
      combined = 0;
      const blanks = characters.slice(index, run.end).join('');
      segments.push({ kind: 'mark', text: `${ours}${run.words}⟧`, character: blanks, reason: 'blank' });
      return;
    }
    const isParting = partedBy.includes(character);
    combined = joins(previous, character) ? combined + 1 : 0;
    links = linksOf(links, previous, character);
    const clings = equals(cluster + character) || clingsTo(cluster, { combined, links }, character);
    const reason = isParting ? undefined : reasonOf(character, clings, posing.has(index) || equals(character));
    const base = combined > 0 ? cluster : '';
    cluster = '';
    previous = '';
    if (reason === undefined) {
      plain += character;
      previous = character;
      if (!isParting) cluster = base + character;
      return;
    }
    flush();
    links = 0;
    segments.push({ kind: 'mark', text: markOf(character), character, reason });
  });
  flush();
  return segments;
}

/** Returns whether no row can end before the character: it stands in the cluster of the one before it. */
function joins(previous: string, character: string): boolean {
  if (combining.test(character) || prepended.test(previous)) return true;
  return syllablePart.test(previous) && syllablePart.test(character);
}

/** How many letters are linked to one before them, in one cluster. */
function linksOf(links: number, previous: string, character: string): number {
  if (combining.test(character)) return links;
  return linker.test(previous) ? links + 1 : 0;
}

/** A fast path for most texts, including long typed ones, which are processed at every key. */
function isPlain(text: string, options: BlankOptions): boolean {
  for (const [character] of text.matchAll(beyondAscii)) if (!options.partedBy.includes(character)) return false;
  return !hasBlankRun(text, options);
}

/** @param combined the position of the character among those that combine with the base; 0 for a base. */
function clingsTo(
  cluster: string,
  { combined, links }: { readonly combined: number; readonly links: number },
  character: string,
): boolean {
  if (combiningSigns.test(character) || veryWide.test(character) || links > linksMax) return true;
  // Stacked without limit, they paint over the lines above.
  return combined > combiningRunMax || (combined > 0 && cluster === '');
}

/**
 * Returns whether a text looks exactly like another one, by the canonical equivalence of Unicode. The attack: an `e` with a
 * combining accent names another file than an `é`.
 */
function equalsAnother(text: string): boolean {
  return text.normalize('NFC') !== text;
}

function reasonOf(character: string, clings: boolean, poses: boolean): MarkReason | undefined {
  if (poses) return 'posing';
  if (clings) return 'clinging';
  return character === ours || unseen.test(character) ? 'unseen' : undefined;
}

/** The segments of one line of a text. An indentation is marked like any other run of spaces, and so are blanks at its end. */
export function lineSegments(line: string): readonly Segment[] {
  return segmentsOf(line, { partedBy: '\t', inLines: true });
}

/** The visible mark of a character that is not shown as itself: `⟦U+202E⟧`. */
export function markOf(character: string): string {
  const codePoint = character.codePointAt(0) ?? 0;
  return `${ours}U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}⟧`;
}

/** Segments as one plain text. */
export function textOf(segments: readonly Segment[]): string {
  return segments.map(({ text }) => text).join('');
}

/**
 * A foreign text as a single line in which every character is seen, at most `charactersMax` of them; what is left out is
 * counted in a visible note.
 *
 * @example
 * printable('/tmp/\u202etxt.exe'); // '/tmp/⟦U+202E⟧txt.exe'
 */
export function printable(text: string, charactersMax = Number.POSITIVE_INFINITY): string {
  if (text.length <= charactersMax) return textOf(segmentsOf(text));
  const characters = Array.from(text);
  const left = characters.length - charactersMax;
  return `${textOf(segmentsOf(characters.slice(0, charactersMax).join('')))}${left > 0 ? moreCharacters(left) : ''}`;
}

/** The note of what was left out: `…⟦1,995 more characters⟧`. */
export function moreCharacters(count: number): string {
  return `…${ours}${count.toLocaleString('en-US')} more characters⟧`;
}

/**
 * Replaces every invisible character, for texts that already contain our marks, or that a program reads. It does not
 * check for look-alikes: foreign texts go through `segmentsOf` first.
 */
export function replaceUnseen(text: string, replacement: (character: string) => string): string {
  return text.replaceAll(unseenAnywhere, replacement);
}

/** A foreign text in quotes that nothing in it can close, so that what follows is never taken for words of ours. */
export function quotedWords(text: string, charactersMax?: number): string {
  return `"${printable(text, charactersMax).replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}
