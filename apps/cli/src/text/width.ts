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

/**
 * Breaks a line at spaces if possible, otherwise anywhere. Continuation lines are indented by `hanging` spaces, or begin
 * with such a text. Nothing is lost. Runs in linear time, since arguments can be one line of 256 KiB.
 */
export function wrap(line: string, columns: number, hanging: number | string = 0): string[] {
  if (isPlain(line) && line.length <= columns) return [line];
  const wanted = typeof hanging === 'string' ? hanging : ' '.repeat(hanging);
  const indent = wanted.slice(0, Math.max(0, columns - 10));
  const characters = codePointsOf(line);
  const lines: string[] = [];
  let start = 0;
  while (start < characters.length || lines.length === 0) {
    const room = lines.length === 0 ? columns : columns - indent.length;
    const { end, next } = breakAt(characters, start, room);
    lines.push((lines.length === 0 ? '' : indent) + characters.slice(start, end).join(''));
    start = next;
  }
  return lines;
}

/**
 * Returns the end of the line that begins at `start` and the beginning of the next line, after the space at the break.
 */
function breakAt(characters: readonly string[], start: number, room: number): { end: number; next: number } {
  let width = 0;
  let space = -1;
  for (let index = start; index < characters.length; index += 1) {
    const character = characters[index] ?? '';
    width += columnsOf(character);
    if (width > room) {
      const end = Math.max(index, start + 1);
      // A short stump before a long word would waste the line.
      return space > start + (end - start) / 2 ? { end: space, next: space + 1 } : { end, next: end };
    }
    if (character === ' ') space = index;
  }
  return { end: characters.length, next: characters.length };
}
