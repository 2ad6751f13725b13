import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compilePattern } from './patterns.js';

const patternOf = (text: string) => {
  const result = compilePattern(text);
  if (!('pattern' in result)) throw new Error(`${text}: ${result.reason}`);
  return result.pattern;
};

const character = fc.constantFrom('a', 'b', '[ab]', '[^a]', '.', '\\x61', '\\u0062', '[a-c\\]]', '\\d', 'é');
const times = fc.constantFrom('', '{2}', '{1,20}', '{0,30}', '{18}', '{3,}', '*', '+', '?', '{1,20}?');
const atom = fc.tuple(character, times).map((parts) => parts.join(''));
const sequence = fc.array(atom, { minLength: 1, maxLength: 3 }).map((atoms) => atoms.join(''));
const group = fc.tuple(sequence, sequence).map(([one, other]) => `(?:${one}|${other})`);
const ahead = fc
  .tuple(fc.constantFrom('', '(?=', '(?!'), sequence, fc.constantFrom('', '$'))
  .map(([open, text, end]) => (open === '' ? '' : `${open}${text}${end})`));
const alternative = fc
  .tuple(fc.constantFrom('', '^'), ahead, fc.oneof(sequence, group), fc.constantFrom('', '$'))
  .map(([begin, look, text, end]) => `${begin}${begin === '' ? '' : look}${text}${end}`);
const pattern = fc.array(alternative, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('|'));
const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', ']', '\n', 'é'), maxLength: 40 });

describe('a pattern', () => {
  it('matches what JavaScript says that it matches, in whatever form it is compiled', () => {
    fc.assert(
      fc.property(pattern, fc.array(text, { minLength: 5, maxLength: 5 }), (source, texts) => {
        const native = new RegExp(source, 'u');
        const { test } = patternOf(source);
        expect([source, texts.map(test)]).toEqual([source, texts.map((one) => native.test(one))]);
      }),
      { numRuns: 1500 },
    );
  });

  it('counts a character outside the first plane once', () => {
    const { test } = patternOf('^.{18,20}$');
    expect([17, 18, 20, 21].map((count) => test('😀'.repeat(count)))).toEqual([false, true, true, false]);
  });

  it.each(['\\p{sc=Latin}', '\\p{sc=Greek}', '\\p{Script=Cyrillic}', '\\u{10FFFF}', '\\uD83D\\uDE00'])(
    'reads %s as one piece',
    (source) => {
      expect(['a', 'α', 'ж', '😀'].map(patternOf(source).test)).toEqual(
        ['a', 'α', 'ж', '😀'].map((one) => new RegExp(source, 'u').test(one)),
      );
    },
  );

  it.each(['^[\\ud83c-\\ud83e][\\udc00-\\udfff]$', '\\uDE00', '[^\\ud800-\\udfff]'])(
    'with half of a character is left out, since engines differ: %s',
    (source) => {
      expect(compilePattern(source)).toEqual({ reason: 'uses a construct that patterns here do not support' });
    },
  );

  it.each([
    ['^[a-z0-9-]{1,255}$', 20],
    ['^[A-Za-z0-9_-]{1,256}$', 20],
    ['^.{1,5000}$', 20],
    ['^(?:[a-z]{1,200}|[0-9]{1,200})$', 20],
    ['^arn:[a-z]{3}:[a-z0-9/_-]{1,2048}$', 40],
    ['^[a-z][a-z0-9-]{0,61}[a-z0-9]$', 20],
    ['^(?=[a-z.-]{1,253}$)(?!-).*$', 40],
  ])('%s has at most %d instructions', (source, most) => {
    expect(patternOf(source).program).toBeLessThanOrEqual(most);
  });

  it.each([
    `([a-z]{1,30}){1,30}`.repeat(100),
    '[a-z]{1000}'.repeat(180),
    `^${'(?:'.repeat(600)}a${')'.repeat(600)}$`,
    `^${'(?=('.repeat(400)}a${'))'.repeat(400)}$`,
  ])('is left out before it takes long to compile', (source) => {
    const before = process.cpuUsage().user;
    const result = compilePattern(source);
    expect('reason' in result || result.pattern.program < 1500).toBe(true);
    // It took 400 to 800 ms to compile them.
    expect((process.cpuUsage().user - before) / 1000).toBeLessThan(250);
  });
});

it.each([
  String.raw`^(?<q>["']).*\k<q>$`,
  '(?s)^a.b$',
  '(?is:a.b)',
  String.raw`\Aab\Z`,
  '^[a-z]{,5}$',
  '^a{1, 2}$',
  String.raw`^\h*a\R?$`,
  '^[a-z&&[^q]]+$',
  // Classes in classes, and operations on them, of the flag `v`, Java and .NET.
  String.raw`[\p{L}--[a-z]]`,
  String.raw`^(?:x|[\p{L}--[a-z]])+$`,
  String.raw`^[\w--\d]$`,
  String.raw`^[\w--a]$`,
  String.raw`^[^\d--[5]]$`,
  String.raw`^[\w&&\d]+$`,
  '^[[a-z]&&[aeiou]]{1,20}$',
  '^[[a-z]_]{1,20}$',
  '^[_[a-z]]+$',
  '^[a-z-[aeiou]]+$',
  String.raw`^[\q{abc|d}x]$`,
  String.raw`^\p{RGI_Emoji}$`,
])('a word that means something else to the engine is left out: %s', (source) => {
  expect(compilePattern(source)).toEqual({
    reason: expect.stringMatching(/do not support|is not a linear-time pattern/),
  });
});

it.each([
  '^[+--/]+$',
  '^[!--]+$',
  '^[a&&]+$',
  '^[$&&+,]+$',
  String.raw`^[^[\]]+$`,
  String.raw`^[[\]()]+$`,
  '^[a-z--q]+$',
])('a sign that is only itself in a class is read: %s', (source) => {
  const texts = ['+', '-', '.', '/', '&', '[', ']', '(', 'a', 'q', 'z', '!', 'a-'];
  expect(texts.map(patternOf(source).test)).toEqual(texts.map((one) => new RegExp(source, 'u').test(one)));
});
