import { describe, expect, it } from '@jest/globals';
import { choiceWords } from './choice-words.js';

describe('the words of options', () => {
  it('tell a text from a number, and show its spaces', () => {
    expect(choiceWords([1, '1', null, 'null', true, 'a', 'a ', 'a  b', ''])).toEqual([
      '1',
      '“1”',
      'null',
      '“null”',
      'true',
      '“a”',
      '“a⟦1 space⟧”',
      '“a⟦2 spaces⟧b”',
      '“”',
    ]);
  });

  it.each([
    [['cop', 'сор']],
    [['pay', 'pay\u200b']],
    [['admin', 'аdmin']],
    [['Il', 'lI']],
    [['O1', '0l']],
    [['modern', 'modem']],
    [['ﬁle', 'file']],
    [['x'.repeat(300), `${'x'.repeat(299)}y`]],
    [['x⟦option 1 of 2; another one looks like it⟧', 'x']],
  ])('tell %j apart', (choices) => {
    const words = choiceWords(choices);
    expect(new Set(words).size).toBe(choices.length);
    const isNamed = (one: string): boolean => /⟦(?:U\+|option )/.test(one);
    expect(words.some(isNamed)).toBe(true);
  });

  it('are plain where no other option looks the same', () => {
    expect(choiceWords(['low', 'high', 'привет', 'low'])).toEqual(['“low”', '“high”', '“привет”', '“low”']);
  });
});
