import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { lineDiff } from './line-diff.js';

const asText = (before: string, after: string) =>
  lineDiff(before, after).map(({ kind, text }) => (kind === '@' ? text : kind + text));

describe('lineDiff', () => {
  it('shows what is removed and added, with three lines around', () => {
    const before = ['1', '2', '3', '4', '5', '6', '7', '8', '9'].join('\n');
    expect(asText(before, before.replace('5', 'five'))).toEqual([
      '@@ -2 +2 @@',
      ' 2',
      ' 3',
      ' 4',
      '-5',
      '+five',
      ' 6',
      ' 7',
      ' 8',
    ]);
  });

  it('starts a new hunk after a gap', () => {
    const before = Array.from({ length: 30 }, (_, index) => String(index)).join('\n');
    const hunks = asText(before, `first\n${before}\nlast`).filter((line) => line.startsWith('@@'));
    expect(hunks).toEqual(['@@ -1 +1 @@', '@@ -28 +29 @@']);
  });

  it('is empty for equal texts', () => {
    expect(lineDiff('a\nb', 'a\nb')).toEqual([]);
  });

  it('holds both texts whole when all is near: what it removes and keeps is the one, what it adds and keeps the other', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 });
    fc.assert(
      fc.property(text, text, (before, after) => {
        // A change on every second line keeps everything within the context of some change.
        const [one, other] = [before, after].map((lines, side) =>
          lines.flatMap((line) => [line, `side ${String(side)}`]).join('\n'),
        );
        fc.pre(one !== other && one !== undefined && other !== undefined);
        const lines = lineDiff(one, other);
        const side = (sign: string) =>
          lines
            .filter(({ kind }) => kind === ' ' || kind === sign)
            .map((line) => line.text)
            .join('\n');
        expect(side('-')).toBe(one);
        expect(side('+')).toBe(other);
      }),
    );
  });

  it('stays true, if long, for texts that have nothing in common', () => {
    const lines = (word: string) => Array.from({ length: 2000 }, (_, index) => `${word} ${String(index)}`).join('\n');
    const diff = lineDiff(lines('old'), lines('new'));
    expect(diff.filter(({ kind }) => kind === '-')).toHaveLength(2000);
    expect(diff.filter(({ kind }) => kind === '+')).toHaveLength(2000);
  });
});
