import { codePointsOf } from './printable.js';

const zeroWidth = /[\p{Mn}\p{Me}]/u;
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** How many columns a printable text without styling takes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += columnsOf(character);
  return width;
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

/** Breaks a line at spaces where it can, anywhere where it must. Later lines start with `hanging` spaces. Nothing is lost. */
export function wrap(line: string, columns: number, hanging = 0): string[] {
  const lines: string[] = [];
  const indent = ' '.repeat(Math.min(hanging, Math.max(0, columns - 10)));
  let rest = line;
  while (widthOf(rest) > columns) {
    const part = head(rest, Math.max(1, columns));
    const first = part === '' ? codePointsOf(rest).slice(0, 1).join('') : part;
    const space = first.lastIndexOf(' ');
    const isWord = space > indent.length && space > first.length / 2;
    const taken = isWord ? first.slice(0, space) : first;
    lines.push(taken);
    rest = indent + rest.slice(taken.length + (isWord ? 1 : 0));
  }
  return [...lines, rest];
}
