import { sealed } from '../text/printable.js';
import type { Style } from '../text/style.js';
import { wrap } from '../text/width.js';

/** One line of the screen: printable text without styling, and its tone. */
export interface Line {
  readonly text: string;
  readonly tone?: keyof Style;
}

/** A line in its tone, sealed: nothing reaches the terminal but through here. */
export function paint(line: Line, style: Style): string {
  const text = sealed(line.text);
  return line.tone === undefined ? text : style[line.tone](text);
}

/** Breaks printable text into lines of one tone. */
export function wrapped(text: string, columns: number, tone?: keyof Style, hanging: number | string = 0): Line[] {
  return wrap(text, columns, hanging).map((part) => (tone === undefined ? { text: part } : { text: part, tone }));
}

/** Breaks a sentence of ours, such as a problem. A path or a command that does not fit goes on without a sign, so that it can be copied. */
export function wrappedWords(text: string, columns: number, tone?: keyof Style): Line[] {
  return wrap(text, columns, 0, '').map((part) => (tone === undefined ? { text: part } : { text: part, tone }));
}
