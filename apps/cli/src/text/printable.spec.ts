import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { honestTexts, hostileTexts } from '@countersign/text/testing';
import { printableLines, safeJson, sealed } from './printable.js';

describe('printableLines', () => {
  it('splits at line ends and shows tabs', () => {
    expect(printableLines('a\tb\r\nc\u001b[A')).toEqual(['a⇥  b', 'c⟦U+001B⟧[A']);
  });

  it.each(hostileTexts.filter(({ text }) => !/[\n\t]/.test(text)))('shows $name, on every line', ({ text, shown }) => {
    const line = shown.replace(/ +$/, (blanks) => `⟦${String(blanks.length)} spaces⟧`);
    expect(printableLines(`${text}\n\t${text}`)).toEqual([line, `⇥  ${line}`]);
  });
});

describe('sealed', () => {
  it('marks what a part forgot, and passes our own marks', () => {
    expect(sealed('⟦U+202E⟧ \u001b[0m')).toBe('⟦U+202E⟧ ⟦U+001B⟧[0m');
  });

  it('leaves no invisible character in any text', () => {
    const unseen = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u;
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(unseen.test(sealed(text).replaceAll(' ', ''))).toBe(false);
      }),
    );
  });
});

describe('safeJson', () => {
  it.each(hostileTexts)('writes $name so that a terminal is not moved, and a program reads the same', ({ text }) => {
    const json = safeJson({ text });
    expect(JSON.parse(json)).toEqual({ text });
    expect(json).not.toMatch(/[\p{C}\p{Default_Ignorable_Code_Point}]/u);
  });

  it.each(honestTexts)('leaves honest text alone: %s', (text) => {
    expect(safeJson({ text })).toBe(JSON.stringify({ text }));
  });

  it('is one line, or indented', () => {
    expect(safeJson({ a: 1 })).toBe('{"a":1}');
    expect(safeJson({ a: 1 }, 2)).toBe('{\n  "a": 1\n}');
    expect(safeJson(undefined)).toBe('null');
  });
});
