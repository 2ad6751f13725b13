import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { printable, printableLines, safeJson, sealed } from './printable.js';

/** What hides, reorders or commands: the Trojan Source corpus and its relatives, with what must be seen instead. */
const corpus: readonly (readonly [what: string, text: string, shown: string])[] = [
  ['an escape sequence that clears the screen', 'ok\u001b[2J', 'ok⟦U+001B⟧[2J'],
  ['an escape sequence that paints', '\u001b[32mapproved\u001b[0m', '⟦U+001B⟧[32mapproved⟦U+001B⟧[0m'],
  ['an operating system command (window title, clipboard)', '\u001b]52;c;aGk=\u0007', '⟦U+001B⟧]52;c;aGk=⟦U+0007⟧'],
  ['a C1 control sequence introducer', 'a\u009b2J', 'a⟦U+009B⟧2J'],
  ['a carriage return that writes over the line', 'rm -rf /\rls -l   ', 'rm -rf /⟦U+000D⟧ls -l   '],
  ['a backspace', 'abc\b\b\bxyz', 'abc⟦U+0008⟧⟦U+0008⟧⟦U+0008⟧xyz'],
  ['a delete', 'a\u007f', 'a⟦U+007F⟧'],
  ['a line feed in a single line', 'one\ntwo', 'one⟦U+000A⟧two'],
  ['a right-to-left override', 'gpj\u202eexe.tset', 'gpj⟦U+202E⟧exe.tset'],
  ['an isolate (CVE-2021-42574)', '/*\u2066 begin admins only \u2069*/', '/*⟦U+2066⟧ begin admins only ⟦U+2069⟧*/'],
  ['an Arabic letter mark', 'a\u061cb', 'a⟦U+061C⟧b'],
  ['a zero-width space', 'pay\u200bpal', 'pay⟦U+200B⟧pal'],
  ['a zero-width joiner', 'a\u200db', 'a⟦U+200D⟧b'],
  ['a byte order mark', '\ufeffa', '⟦U+FEFF⟧a'],
  ['a soft hyphen', 'pass\u00adword', 'pass⟦U+00AD⟧word'],
  ['a word joiner', 'a\u2060b', 'a⟦U+2060⟧b'],
  ['invisible tag characters', 'hi\u{e0041}\u{e0042}', 'hi⟦U+E0041⟧⟦U+E0042⟧'],
  ['a variation selector', 'a\ufe0f', 'a⟦U+FE0F⟧'],
  ['a Hangul filler', 'a\u3164b', 'a⟦U+3164⟧b'],
  ['a no-break space', '/tmp\u00a0/x', '/tmp⟦U+00A0⟧/x'],
  ['an ideographic space', 'a\u3000b', 'a⟦U+3000⟧b'],
  ['a line separator', 'a\u2028b', 'a⟦U+2028⟧b'],
  ['a lone surrogate', 'a\ud800b', 'a⟦U+D800⟧b'],
  ['a private-use character', 'a\ue000b', 'a⟦U+E000⟧b'],
  ['a mark that is not ours', '⟦U+202E⟧', '⟦U+27E6⟧U+202E⟧'],
  ['a Cyrillic е in a Latin word', '/\u0435tc/hosts', '/⟦U+0435⟧tc/hosts'],
  ['a host name all in Cyrillic look-alikes', 'https://\u0430\u0440\u0440.com', 'https://⟦U+0430⟧⟦U+0440⟧⟦U+0440⟧.com'],
  [
    'combining characters stacked over the lines above',
    `a${'\u0301'.repeat(5)}`,
    `a${'\u0301'.repeat(3)}⟦U+0301⟧⟦U+0301⟧`,
  ],
  ['a combining character without a base', '\u0338x', '⟦U+0338⟧x'],
];

describe('printable', () => {
  it.each(corpus)('shows %s', (_, text, shown) => {
    expect(printable(text)).toBe(shown);
  });

  it.each(['plain text', 'Größe: 3 €', '数字は三つ', 'Привет, мир', 'сор', 'Ελληνικά', 'Δx = 3 µs', 'ảo', '👍 done'])(
    'leaves honest text alone: %s',
    (text) => {
      expect(printable(text)).toBe(text);
    },
  );

  it('cuts visibly, and says how much is missing', () => {
    expect(printable('x'.repeat(2000), { charactersMax: 5 })).toBe('xxxxx…⟦1,995 more characters⟧');
    expect(printable('xxxxx', { charactersMax: 5 })).toBe('xxxxx');
  });

  it('lets nothing unseen through, whatever comes', () => {
    const unseen = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u;
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(unseen.test(printable(text).replaceAll(' ', ''))).toBe(false);
        expect(unseen.test(sealed(text).replaceAll(' ', ''))).toBe(false);
      }),
    );
  });

  it('gives different texts different looks', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (one, other) => {
        expect(printable(one) === printable(other)).toBe(one === other);
      }),
    );
  });
});

describe('printableLines', () => {
  it('splits at line ends and shows tabs', () => {
    expect(printableLines('a\tb\r\nc\u001b[A')).toEqual(['a⇥  b', 'c⟦U+001B⟧[A']);
  });
});

describe('sealed', () => {
  it('marks what a part forgot, and passes our own marks', () => {
    expect(sealed('⟦U+202E⟧ \u001b[0m')).toBe('⟦U+202E⟧ ⟦U+001B⟧[0m');
  });
});

describe('safeJson', () => {
  it.each(corpus)('writes %s so that a terminal is not moved, and a program reads the same', (_, text) => {
    const json = safeJson({ text });
    expect(JSON.parse(json)).toEqual({ text });
    expect(json).not.toMatch(/[\p{C}\p{Default_Ignorable_Code_Point}]/u);
  });

  it('is one line, or indented', () => {
    expect(safeJson({ a: 1 })).toBe('{"a":1}');
    expect(safeJson({ a: 1 }, 2)).toBe('{\n  "a": 1\n}');
    expect(safeJson(undefined)).toBe('null');
  });
});
