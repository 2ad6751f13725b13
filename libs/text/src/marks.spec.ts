import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { lineSegments, markOf, moreCharacters, printable, replaceUnseen, segmentsOf, textOf } from './marks.js';
import { honestTexts, hostileTexts } from './testing/hostile-texts.js';

const unseen = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u;
/** All of Unicode, and much of what poses, parts and combines. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(
      '         ',
      ...Array.from('aezE/ \n\t"⟦⟧аеожЖοωԱո\u0301\u0323\u0338\u1100\u1161\u11a8\u202e\ufe0f\u00a0\ud83d'),
    ),
  }),
);

describe('a foreign text', () => {
  it.each(hostileTexts)('shows $name', ({ text, shown }) => {
    expect(printable(text)).toBe(shown);
  });

  it.each(honestTexts)('is left alone when it is honest: %s', (text) => {
    expect(printable(text)).toBe(text);
  });

  it('is marked as in PHP', () => {
    const file = join(import.meta.dirname, '../../../test/cases/look-alikes.json');
    const cases = JSON.parse(readFileSync(file, 'utf8')) as readonly {
      readonly text: string;
      readonly shown: string;
    }[];
    const shown = cases.map(({ text }) => ({ text, shown: textOf(segmentsOf(text, { partedBy: '"' })) }));
    expect(shown).toEqual(cases);
  });

  it('is cut visibly, and says how much is missing', () => {
    expect(printable('x'.repeat(2000), 5)).toBe('xxxxx…⟦1,995 more characters⟧');
    expect(printable('xxxxx', 5)).toBe('xxxxx');
    expect(printable('👍👍👍', 3)).toBe('👍👍👍');
    expect(printable('👍👍👍', 2)).toBe(`👍👍${moreCharacters(1)}`);
  });

  it('leaves no invisible character in any text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(unseen.test(printable(text).replaceAll(' ', ''))).toBe(false);
        expect(unseen.test(replaceUnseen(text, markOf).replaceAll(' ', ''))).toBe(false);
      }),
    );
  });

  it('looks different from every different text', () => {
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        expect(printable(one) === printable(other)).toBe(one === other);
      }),
    );
  });

  it('has no other spelling that looks the same by the canonical equivalence of Unicode', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(printable(text).normalize('NFC')).toBe(printable(text));
      }),
    );
  });
});

describe('segments', () => {
  it('hold the whole text, each mark for one character and with its reason', () => {
    expect(segmentsOf('a\u202eb\u0435\u0301c')).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'mark', text: '⟦U+202E⟧', character: '\u202e', reason: 'unseen' },
      { kind: 'text', text: 'b' },
      { kind: 'mark', text: '⟦U+0435⟧', character: '\u0435', reason: 'posing' },
      { kind: 'mark', text: '⟦U+0301⟧', character: '\u0301', reason: 'clinging' },
      { kind: 'text', text: 'c' },
    ]);
    fc.assert(
      fc.property(anyText, (text) => {
        const characters = segmentsOf(text).map((one) => (one.kind === 'mark' ? one.character : one.text));
        expect(characters.join('')).toBe(text);
      }),
    );
  });

  it('leave the characters that part a text as they are, and no others', () => {
    expect(textOf(segmentsOf('a\n\tb\r', { partedBy: '\n\t' }))).toBe('a\n\tb⟦U+000D⟧');
  });

  it('mark spaces, tabs and empty lines that come in numbers', () => {
    const shown = (text: string): string => textOf(segmentsOf(text, { partedBy: '\n\t' }));
    expect(shown(`a${'\n'.repeat(301)}b`)).toBe('a\n⟦300 empty lines⟧\nb');
    expect(shown('a\n\n  \n\t\nb')).toBe('a\n\n⟦2 spaces⟧\n⟦1 tab⟧\nb');
    expect(shown(`a\n${' \n'.repeat(40)}b`)).toBe('a\n⟦40 lines of 1 space⟧\nb');
    expect(shown('a\n\n\nb')).toBe('a\n\n\nb');
    expect(shown('\n\n\nb')).toBe('⟦3 empty lines⟧\nb');
    expect(shown(`${' '.repeat(1200)}b`)).toBe('⟦1,200 spaces⟧b');
    expect(shown(`a${'\t'.repeat(60)}b`)).toBe('a⟦60 tabs⟧b');
    expect(shown(`a${' '.repeat(4)}\t\t\t\tb`)).toBe('a⟦4 spaces, 4 tabs⟧b');
    expect(shown(`a\t\t\t\t${' '.repeat(4)}b`)).toBe('a⟦4 tabs, 4 spaces⟧b');
  });

  it('mark each blank at the end of a line that is shown as one', () => {
    const shown = (text: string): string => textOf(segmentsOf(text, { partedBy: '\n\t', inLines: true }));
    expect(shown('echo \\ \n  rm x\t\n\ntrue')).toBe('echo \\⟦1 space⟧\n  rm x⟦1 tab⟧\n\ntrue');
    expect(textOf(lineSegments('a b  '))).toBe('a b⟦2 spaces⟧');
    expect(textOf(segmentsOf('a b  '))).toBe('a b  ');
  });

  it('of a line leave its indentation where it is short', () => {
    expect(textOf(lineSegments(`${' '.repeat(7)}a`))).toBe(`${' '.repeat(7)}a`);
    for (const spaces of [8, 16, 24, 25]) {
      expect(textOf(lineSegments(`${' '.repeat(spaces)}a`))).toBe(`⟦${String(spaces)} spaces⟧a`);
    }
    expect(textOf(lineSegments(`  a${' '.repeat(8)}b`))).toBe('  a⟦8 spaces⟧b');
  });

  it('let no combining character cling to what parts the text', () => {
    expect(textOf(segmentsOf('a\n\u0338b', { partedBy: '\n' }))).toBe('a\n⟦U+0338⟧b');
  });

  it('judge each part by itself: an honest line is no cover for the next one', () => {
    const text = 'Привет, мир\nhttps://\u0430\u0440\u0440.com';
    expect(textOf(segmentsOf(text, { partedBy: '\n' }))).toContain('//⟦U+0430⟧⟦U+0440⟧⟦U+0440⟧.com');
  });

  it('judge each part in the whole: a line of its own is no cover either', () => {
    expect(textOf(segmentsOf('log in at\n\u0440\u0430\u0443', { partedBy: '\n' }))).toBe(
      'log in at\n⟦U+0440⟧⟦U+0430⟧⟦U+0443⟧',
    );
  });

  it('mark in a parted text all that they mark in it as one, and in each part alone', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const marksOf = (one: string, partedBy = ''): number =>
          segmentsOf(one, { partedBy }).reduce(
            (sum, segment) => sum + (segment.kind === 'mark' ? Array.from(segment.character).length : 0),
            0,
          );
        const parted = marksOf(text, '\n\t');
        const parts = text.split(/[\n\t]/).reduce((sum, part) => sum + marksOf(part), 0);
        const whole = marksOf(text) - Array.from(text).filter((character) => '\n\t'.includes(character)).length;
        expect(parted).toBeGreaterThanOrEqual(Math.max(parts, whole));
      }),
    );
  });

  it('take their time in proportion to the text', () => {
    const before = process.cpuUsage().user;
    expect(segmentsOf('\u0435'.repeat(200_000) + 'ж').length).toBe(1);
    expect(segmentsOf(`a${'\u0435'.repeat(200_000)}ж`).length).toBe(200_002);
    expect((process.cpuUsage().user - before) / 1000).toBeLessThan(5000);
  });

  it.each([
    ['letters linked to one', '\u0915\u094d'.repeat(7), `${'\u0915\u094d'.repeat(5)}⟦U+0915⟧⟦U+094D⟧\u0915\u094d`],
    ['parts of Hangul syllables', '\u1100'.repeat(6), '\u1100\u1100\u1100\u1100⟦U+1100⟧\u1100'],
    ['skin tones', `👍${'🏽'.repeat(5)}`, '👍🏽🏽🏽⟦U+1F3FD⟧⟦U+1F3FD⟧'],
    ['sound marks', `\uff76${'\uff9e'.repeat(4)}`, '\uff76\uff9e\uff9e\uff9e⟦U+FF9E⟧'],
  ])('marks a cluster that has no place to break from a length on: %s', (_, text, shown) => {
    expect(textOf(segmentsOf(text))).toBe(shown);
  });

  it.each([
    ['a  b', 'a⟦2 spaces⟧b'],
    [' a b ', '⟦1 space⟧a b⟦1 space⟧'],
    ['a\n  b', 'a\n  b'],
  ])('marks blanks for which a row of words has room: %j', (text, shown) => {
    expect(textOf(segmentsOf(text, { partedBy: '\n', inWords: true }))).toBe(shown);
  });
});
