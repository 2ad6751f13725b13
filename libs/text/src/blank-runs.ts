/** From this many spaces on, what follows is easily missed. */
const blanksMin = 8;
/** From this many empty lines on, what follows is easily missed. */
const linesMin = 3;

/** A stretch of a text in which nothing is seen, and how it is named. Its positions are indices of characters. */
export interface BlankRun {
  readonly end: number;
  /** `240 spaces`, `300 empty lines`. */
  readonly words: string;
}

/** Returns whether a text has a blank run. `partedBy`: the line ends and tabs that are shown as themselves. */
export function hasBlankRun(text: string, partedBy: string): boolean {
  if (/ {8}/.test(text)) return true;
  if (partedBy.includes('\t') && /[ \t]{8}/.test(text)) return true;
  return partedBy.includes('\n') && /(?:^|\n)(?:[ \t]*\n){3}/.test(text);
}

/**
 * Finds the blank runs of a text by their first character: 8 or more spaces, and 3 or more empty lines.
 * Attack: a command behind 240 spaces or 300 empty lines, where no person scrolls.
 */
export function blankRuns(characters: readonly string[], partedBy: string): ReadonlyMap<number, BlankRun> {
  const runs = new Map<number, BlankRun>();
  let at = 0;
  while (at < characters.length) {
    const lines = partedBy.includes('\n') ? blankLinesAt(characters, at) : undefined;
    const run = lines ?? blanksAt(characters, at, partedBy);
    if (run !== undefined) runs.set(at, run);
    at = run?.end ?? at + 1;
  }
  return runs;
}

/** The empty lines that begin here. The end of the last one stays, so that the next line begins on its own. */
function blankLinesAt(characters: readonly string[], start: number): BlankRun | undefined {
  if (start > 0 && characters[start - 1] !== '\n') return undefined;
  let count = 0;
  let end = start;
  for (let at = start; at < characters.length && isBlank(characters[at]); at += 1) {
    if (characters[at] !== '\n') continue;
    count += 1;
    end = at;
  }
  return count < linesMin ? undefined : { end, words: blankLinesWords(count) };
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t' || character === '\n';
}

function blanksAt(characters: readonly string[], start: number, partedBy: string): BlankRun | undefined {
  const isOne = (character: string | undefined): boolean =>
    character === ' ' || (character === '\t' && partedBy.includes('\t'));
  let end = start;
  while (isOne(characters[end])) end += 1;
  if (end - start < blanksMin) return undefined;
  const kinds = new Set(characters.slice(start, end));
  const name = kinds.size > 1 ? 'spaces and tabs' : kinds.has('\t') ? 'tabs' : 'spaces';
  return { end, words: `${(end - start).toLocaleString('en-US')} ${name}` };
}

function blankLinesWords(count: number): string {
  return `${count.toLocaleString('en-US')} empty lines`;
}

/** A line of a text that is shown line by line. */
interface TextLine {
  readonly kind: string;
  readonly text: string;
}

/** The same lines; 3 or more empty ones in a row are one, which says how many they are in `blank`. */
export function foldBlankLines<Line extends TextLine>(
  lines: readonly Line[],
): readonly (Line & { readonly blank?: string })[] {
  const folded: (Line & { readonly blank?: string })[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at];
    if (line === undefined) break;
    let end = at;
    while (lines[end]?.kind === line.kind && /^[ \t]*$/.test(lines[end]?.text ?? '')) end += 1;
    const isFolded = end - at >= linesMin;
    folded.push(isFolded ? { ...line, text: '', blank: blankLinesWords(end - at) } : line);
    at = isFolded ? end : at + 1;
  }
  return folded;
}
