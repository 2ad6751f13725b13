import { styleText } from 'node:util';

/** Colours and weights for a terminal. Without colour every function gives its text back. */
export interface Style {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly cyan: (text: string) => string;
  readonly inverse: (text: string) => string;
}

/** A style that adds colours, or one that returns every text unchanged. */
export function createStyle(color: boolean): Style {
  const paint = (format: keyof Style) => (text: string) =>
    color && text !== '' ? styleText(format, text, { validateStream: false }) : text;
  return {
    bold: paint('bold'),
    dim: paint('dim'),
    red: paint('red'),
    green: paint('green'),
    yellow: paint('yellow'),
    cyan: paint('cyan'),
    inverse: paint('inverse'),
  };
}

/**
 * Returns whether to use colours: `NO_COLOR` (no-color.org) and `--no-color` win, then `FORCE_COLOR`, then whether
 * stdout is a terminal.
 */
export function wantsColor(env: Readonly<Record<string, string | undefined>>, isTty: boolean, asked: boolean): boolean {
  if (!asked || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb') return false;
  const forced = env['FORCE_COLOR'];
  return forced === undefined ? isTty : forced !== '0';
}
