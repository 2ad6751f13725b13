/** From this many spaces on, what follows is easily missed. */
const blanksMin = 8;
/** From this many empty lines on, what follows is easily missed. */
const linesMin = 3;

/** A stretch of a text in which nothing is seen, and how it is named. Its positions are indices of characters. */
export interface BlankRun {
  readonly end: number;
  /** `240 spaces`, `4 spaces, 4 tabs`, `300 empty lines`, `40 lines of 1 space`. */
  readonly words: string;
}

/** How the text is shown. */
export interface BlankOptions {
  /** The line ends and tabs that are shown as themselves. */
  readonly partedBy: string;
  /** True: line by line, so blanks at the end of a line are not seen at all. */
  readonly inLines: boolean;
  /** True: its rows end between words, where a row has room for blanks that nobody sees. */
  readonly inWords: boolean;
}

/** Returns whether a text has a blank run. */
export function hasBlankRun(text: string, { partedBy, inLines, inWords }: BlankOptions): boolean {
  if (inWords && /^[ \t]|[ \t]{2}|[ \t]$/.test(text)) return true;
  if (inLines && /[ \t](?:\n|$)/.test(text)) return true;
  if (/ {8}/.test(text)) return true;
  if (partedBy.includes('\t') && /[ \t]{8}/.test(text)) return true;
  return partedBy.includes('\n') && /(?:^|\n)(?:\n{3}|[ \t]+(?:\n|$))/.test(text);
}

/**
 * Finds the blank runs of a text by their first character: 8 or more spaces, any number of them at the end of a line that is shown as a line, and 3 or
 * more empty lines. Their words say exactly what they are.
 * Attacks: a command behind 240 spaces or 300 empty lines, where no person scrolls; a space after a \, so that the next line is no part of
 * this one.
 */
export function blankRuns(characters: readonly string[], options: BlankOptions): ReadonlyMap<number, BlankRun> {
  const { partedBy } = options;
  const runs = new Map<number, BlankRun>();
  let at = 0;
  while (at < characters.length) {
    const lines = partedBy.includes('\n') ? blankLinesAt(characters, at) : undefined;
    const run = lines ?? blanksAt(characters, at, options);
    if (run !== undefined) runs.set(at, run);
    at = run?.end ?? at + 1;
  }
  return runs;
}

/** The equal blank lines that begin here. The end of the last one stays, so that the next line begins on its own. */
function blankLinesAt(characters: readonly string[], start: number): BlankRun | undefined {
  if (start > 0 && characters[start - 1] !== '\n') return undefined;
  const line = blankLineAt(characters, start);
  if (line === undefined) return undefined;
  let count = 1;
  let end = start + line.length;
  while (characters[end] === '\n' && end + 1 < characters.length && blankLineAt(characters, end + 1) === line) {
    count += 1;
    end += 1 + line.length;
  }
  if (count >= linesMin) return { end, words: blankLinesWords(line, count) };
  return line === '' ? undefined : { end: start + line.length, words: blankWords(line) };
}

/** The line that begins here if nothing in it is seen. */
function blankLineAt(characters: readonly string[], start: number): string | undefined {
  let end = start;
  while (characters[end] === ' ' || characters[end] === '\t') end += 1;
  if (end < characters.length && characters[end] !== '\n') return undefined;
  return characters.slice(start, end).join('');
}

function blanksAt(characters: readonly string[], start: number, options: BlankOptions): BlankRun | undefined {
  const { partedBy } = options;
  const isOne = (character: string | undefined): boolean =>
    character === ' ' || (character === '\t' && partedBy.includes('\t'));
  let end = start;
  while (isOne(characters[end])) end += 1;
  if (end - start < blanksWanted(characters, { start, end }, options)) return undefined;
  return { end, words: blankWords(characters.slice(start, end).join('')) };
}

/** From how many blanks on a run at this place is easily missed. */
function blanksWanted(
  characters: readonly string[],
  { start, end }: { readonly start: number; readonly end: number },
  { inLines, inWords }: BlankOptions,
): number {
  const isLast = end === characters.length;
  if (inLines && (isLast || characters[end] === '\n')) return 1;
  if (inWords && (isLast || start === 0)) return 1;
  // An indentation is seen.
  return inWords && characters[start - 1] !== '\n' ? 2 : blanksMin;
}

/** `8 spaces`, `1 tab, 2 spaces`: no two blank texts have the same words. */
function blankWords(blanks: string): string {
  const runs = blanks.match(/ +|\t+/g) ?? [];
  return runs.map((run) => countWords(run.length, run.startsWith('\t') ? 'tab' : 'space')).join(', ');
}

function blankLinesWords(line: string, count: number): string {
  return line === '' ? countWords(count, 'empty line') : `${countWords(count, 'line')} of ${blankWords(line)}`;
}

function countWords(count: number, name: string): string {
  return `${count.toLocaleString('en-US')} ${name}${count === 1 ? '' : 's'}`;
}

/** A line of a text that is shown line by line. */
interface TextLine {
  readonly kind: string;
  readonly text: string;
}

/**
 * The same lines; 3 or more equal blank ones in a row are one, which says in `blank` how many they are. A line of spaces
 * alone says it too: it is not empty.
 */
export function foldBlankLines<Line extends TextLine>(
  lines: readonly Line[],
): readonly (Line & { readonly blank?: string })[] {
  const folded: (Line & { readonly blank?: string })[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at];
    if (line === undefined) break;
    const count = isBlankLine(line) ? alikeFrom(lines, at) : 0;
    const folds = count >= linesMin;
    if (folds) folded.push({ ...line, text: '', blank: blankLinesWords(line.text, count) });
    else folded.push(count === 0 || line.text === '' ? line : { ...line, text: '', blank: blankWords(line.text) });
    at += folds ? count : 1;
  }
  return folded;
}

function isBlankLine({ text }: TextLine): boolean {
  return /^[ \t]*$/.test(text);
}

/** How many lines from here on are like this one. */
function alikeFrom(lines: readonly TextLine[], start: number): number {
  const { kind, text } = lines[start] ?? { kind: '', text: '' };
  let end = start + 1;
  while (lines[end]?.kind === kind && lines[end]?.text === text) end += 1;
  return end - start;
}
