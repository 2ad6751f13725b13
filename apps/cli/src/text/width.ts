import { codePointsOf } from './printable.js';

const zeroWidth = /[\p{Mn}\p{Me}]/u;
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** The columns that a printable text without styling needs. */
export function widthOf(text: string): number {
  if (isPlain(text)) return text.length;
  let width = 0;
  for (const character of text) width += columnsOf(character);
  return width;
}

/** ASCII alone: as wide as it is long. */
function isPlain(text: string): boolean {
  return /^[ -~]*$/.test(text);
}

function columnsOf(character: string): number {
  if (zeroWidth.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/** The text in at most `columns` columns; a cut is shown as `…`. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  return columns < 1 ? '' : `${head(text, columns - 1)}…`;
}

/** The text in exactly `columns` columns: cut or filled with spaces. */
export function fit(text: string, columns: number): string {
  const short = cut(text, columns);
  return short + ' '.repeat(Math.max(0, columns - widthOf(short)));
}

function head(text: string, columns: number): string {
  let out = '';
  let width = 0;
  for (const character of text) {
    width += columnsOf(character);
    if (width > columns) return out;
    out += character;
  }
  return out;
}

/** Before the rest of a line that goes on, where a text could pose as a line of its own. No line begins with it. */
export const goesOn = '↪ ';

/** At the end of a row that goes on without a blank. A row without it goes on after one blank. */
const unbroken = '↩';

/**
 * Breaks a line at single spaces if possible, otherwise anywhere with a sign, so no two lines have the same rows. Continuation lines are
 * indented by `hanging` spaces, or begin with such a text. Runs in linear time, since arguments can be one line of 256 KiB.
 * @param sign ends a row that breaks anywhere; empty in sentences of ours, whose paths and commands people copy.
 */
export function wrap(line: string, columns: number, hanging: number | string = 0, sign = unbroken): string[] {
  if (isPlain(line) && line.length <= columns) return [line];
  const wanted = typeof hanging === 'string' ? hanging : ' '.repeat(hanging);
  const indent = wanted.slice(0, Math.max(0, columns - 10));
  const characters = codePointsOf(line);
  const lines: string[] = [];
  let start = 0;
  while (start < characters.length || lines.length === 0) {
    const room = lines.length === 0 ? columns : columns - indent.length;
    const row = breakAt(characters, start, room, sign);
    const { end, next } = row;
    lines.push((lines.length === 0 ? '' : indent) + characters.slice(start, end).join('') + row.sign);
    start = next;
  }
  return lines;
}

interface Break {
  readonly end: number;
  readonly next: number;
  readonly sign: string;
}

/** Returns the end of the row that begins at `start` and the beginning of the next one, after the space at the break. */
function breakAt(characters: readonly string[], start: number, room: number, wanted: string): Break {
  // A room for one wide character has none for the sign.
  const sign = room < 3 ? '' : wanted;
  let width = 0;
  let space = -1;
  let full = start;
  for (let index = start; index < characters.length; index += 1) {
    width += columnsOf(characters[index] ?? '');
    if (width <= room - sign.length) full = index + 1;
    if (isBreakable(characters, index)) space = index;
    if (width <= room) continue;
    const end = Math.max(full, start + 1);
    // A short stump before a long word would waste the line.
    return space > start + (end - start) / 2 ? { end: space, next: space + 1, sign: '' } : { end, next: end, sign };
  }
  return { end: characters.length, next: characters.length, sign: '' };
}

/** A single space between two words: nothing of it is missed where a row ends instead. */
function isBreakable(characters: readonly string[], index: number): boolean {
  if (characters[index] !== ' ') return false;
  const [before, after] = [characters[index - 1] ?? ' ', characters[index + 1] ?? ' '];
  return before !== ' ' && before !== unbroken && after !== ' ';
}
