import { describe, expect, it } from '@jest/globals';
import { isReordered, rightToLeftParts } from './right-to-left.js';

describe('right-to-left letters', () => {
  it.each([
    ['mv א 1', ['mv ', 'א', ' 1']],
    ['/srv/א/ב', ['/srv/', 'א', '/', 'ב', '']],
    ['שלום, עולם!', ['', 'שלום, עולם', '!']],
    ["ג'ורג' צה\"ל", ['', "ג'ורג", "' ", 'צה"ל', '']],
    ['\u0665-\u0663', ['', '\u0665', '-', '\u0663', '']],
    ['a\u05b0b', ['a\u05b0b']],
    ['ب\u0301 x', ['', 'ب\u0301', ' x']],
  ])('are runs of their own: %j', (text, parts) => {
    expect(rightToLeftParts(text)).toEqual(parts);
  });

  it.each(['mv א 1', 'א1', 'chown א:0 /x', 'א)1(', 'א / ב', '"א": "ב"', '\u0665-\u0663', 'to אב 500 EUR'])(
    'move what stands behind them: %j',
    (line) => {
      expect(isReordered(line)).toBe(true);
    },
  );

  it.each(['', 'rm -rf / 1', '"note": "שלום, עולם!",', 'שלום x 1', '1א', '/srv/א/x/1'])(
    'move nothing in %j',
    (line) => {
      expect(isReordered(line)).toBe(false);
    },
  );
});
