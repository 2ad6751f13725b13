import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const text = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'tools.md'), 'utf8');

/** The rows of the table in docs/tools.md with this first row, each as its cells. A `\|` in a cell is a `|`. */
export function tableOf(heading: string): readonly (readonly string[])[] {
  const [, after] = text.split(`\n${heading}\n`);
  if (after === undefined) throw new Error(`docs/tools.md has no table ${heading}`);
  const [table = ''] = after.split('\n\n', 1);
  return table
    .split('\n')
    .slice(1)
    .filter((row) => row.startsWith('| '))
    .map((row) =>
      row
        .slice(2, -2)
        .split(/ (?<!\\)\| /)
        .map((cell) => cell.replaceAll('\\|', '|')),
    );
}

/** The pieces of a cell that are written as code. */
export function codeIn(cell = ''): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}
