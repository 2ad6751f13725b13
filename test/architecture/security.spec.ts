import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..', '..');
const page = (name: string): string => readFileSync(join(root, 'docs', name), 'utf8');
const cellsOf = (text: string, line: RegExp): readonly (readonly string[])[] =>
  text
    .split('\n')
    .filter((one) => line.test(one))
    .map((one) => one.slice(2, -2).split(' | '));
const text = page('security.md');
/** The rows of every table: threat, guard, test. */
const rows = cellsOf(text, /^\|(?! (?:threat|---))/);
const paths = (cell: string): readonly string[] =>
  [...cell.matchAll(/`((?:apps|libs|integrations|test)\/[^`]+)`/g)].map(([, path = '']) => path);

describe('docs/security.md', () => {
  it('has threats, each with a guard and a test', () => {
    expect(rows.length).toBeGreaterThan(50);
    expect(rows.filter((cells) => cells.length !== 3 || paths(cells[2] ?? '').length === 0)).toEqual([]);
  });

  it('names tests that exist', () => {
    expect(paths(text).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

/** How many requirements each section of chapter C9 of AISVS 1.0 has. */
const requirements = { '9.1': 3, '9.2': 10, '9.3': 8, '9.4': 4, '9.5': 6, '9.6': 3 };

describe('docs/compliance.md', () => {
  const compliance = page('compliance.md');

  it('has a row for each requirement of AISVS C9, with a test where it says what the product does', () => {
    const found = cellsOf(compliance, /^\| 9[.]/);
    const all = Object.entries(requirements).flatMap(([section, count]) =>
      Array.from({ length: count }, (_, index) => `${section}.${String(index + 1)}`),
    );
    expect(found.map(([id]) => id)).toEqual(all);
    const without = found.filter(
      ([, , answer = '', tests = '']) => !/^not (ours|yet)/.test(answer) && paths(tests).length === 0,
    );
    expect(without).toEqual([]);
  });

  it('names tests that exist', () => {
    expect(paths(compliance).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});
