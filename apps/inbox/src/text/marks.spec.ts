import { describe, expect, it } from '@jest/globals';
import { printable, segmentsOf } from './marks.js';

describe('a foreign text', () => {
  it.each([
    ['/tmp/\u202etxt.exe', '/tmp/⟦U+202E⟧txt.exe'],
    ['pass\u200bword', 'pass⟦U+200B⟧word'],
    ['/еtc', '/⟦U+0435⟧tc'],
    ['привет, мир', 'привет, мир'],
    ['a⟦b', 'a⟦U+27E6⟧b'],
    ['\u0301a', '⟦U+0301⟧a'],
    ['e\u0301', 'e\u0301'],
    ['\ud800', '⟦U+D800⟧'],
    ['one\ntwo', 'one⟦U+000A⟧two'],
    ['plain 👍 text', 'plain 👍 text'],
  ])('%j is shown as %j', (text, shown) => {
    expect(printable(text)).toBe(shown);
  });

  it('keeps its lines where it is shown as lines, and nothing else', () => {
    expect(segmentsOf('a\n\tb\r', { keepsLines: true }).map(({ text }) => text)).toEqual(['a\n\tb', '⟦U+000D⟧']);
  });

  it('says how much was cut', () => {
    expect(printable('abcdef', 2)).toBe('ab…⟦4 more characters⟧');
  });
});
