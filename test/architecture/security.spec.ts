import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..', '..');
const text = readFileSync(join(root, 'docs', 'security.md'), 'utf8');
/** The rows of every table: threat, guard, test. */
const rows = text
  .split('\n')
  .filter((line) => /^\|(?! (?:threat|---))/.test(line))
  .map((line) => line.slice(2, -2).split(' | '));
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
