import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cut, fit, widthOf, wrap } from './width.js';

describe('the width of a text', () => {
  it('counts wide characters twice and combining ones not at all', () => {
    expect(widthOf('abc')).toBe(3);
    expect(widthOf('数字')).toBe(4);
    expect(widthOf('👍')).toBe(2);
    expect(widthOf('e\u0301')).toBe(1);
  });

  it('is never more than was asked for', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 0, max: 30 }), (text, columns) => {
        expect(widthOf(cut(text, columns))).toBeLessThanOrEqual(columns);
        expect(widthOf(fit(text, columns))).toBe(columns);
      }),
    );
  });

  it('a cut is visible', () => {
    expect(cut('delete_file', 7)).toBe('delete…');
    expect(cut('数字数字', 4)).toBe('数…');
  });
});

describe('wrap', () => {
  it('breaks at spaces where it can, with a hanging indent', () => {
    expect(wrap('the quick brown fox jumps', 12, 2)).toEqual(['the quick', '  brown fox', '  jumps']);
  });

  it('breaks anywhere where it must', () => {
    expect(wrap('abcdefghijklmnopqrst', 12, 2)).toEqual(['abcdefghijk↩', '  lmnopqrst']);
  });

  it('takes its time in proportion to the line', () => {
    const before = process.cpuUsage().user;
    expect(wrap('数x '.repeat(100_000), 80, 2).length).toBeGreaterThan(5000);
    expect((process.cpuUsage().user - before) / 1000).toBeLessThan(5000);
  });

  it.each([
    [`${'x'.repeat(9)}字z`, `${'x'.repeat(9)} 字z`],
    [`rm /srv/x\\ /etc`, `rm /srv/x\\  /etc`],
    ['rm -rf /home', 'rm -rf / home'],
    ['xxxxxxxxxx ', 'xxxxxxxxxx'],
    ['xxxxxxxxx↩ xx', 'xxxxxxxxx↩xx'],
  ])('shows %j and %j as two', (one, other) => {
    for (let columns = 4; columns < 20; columns += 1) expect(wrap(one, columns)).not.toEqual(wrap(other, columns));
  });

  it('can be undone: a row that ends with the sign goes on without a blank, another one with one', () => {
    const unit = fc.constantFrom('a', 'bcd', ' ', '字', '↩', '\\');
    fc.assert(
      fc.property(fc.string({ unit }), fc.integer({ min: 4, max: 20 }), (text, columns) => {
        const rows = wrap(text, columns);
        const joined = rows.map((row, nth) => {
          if (nth === rows.length - 1) return row;
          return row.endsWith('↩') ? row.slice(0, -1) : `${row} `;
        });
        expect(joined.join('')).toBe(text);
      }),
    );
  });

  it('loses nothing, ends, and keeps to the columns', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.integer({ min: 2, max: 40 }),
        fc.integer({ min: 0, max: 8 }),
        (text, columns, hanging) => {
          const lines = wrap(text, columns, hanging);
          expect(lines.join('').replaceAll(/[ ↩]/g, '')).toBe(text.replaceAll(/[ ↩]/g, ''));
          for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
        },
      ),
    );
  });
});
