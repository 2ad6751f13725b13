import { describe, expect, it } from '@jest/globals';
import { ageWords, agoWords, deadlineWords, durationWords, ordinal } from './time-words.js';

const nowMs = Date.parse('2026-11-22T10:00:00.000Z');

describe('time in words', () => {
  it.each([
    [0, '0 s'],
    [999, '0 s'],
    [3400, '3 s'],
    [59_999, '59 s'],
    [90_000, '1 min'],
    [3_900_000, '1 h 5 min'],
    [36_900_000, '10 h'],
    [90_000_000, '1 d 1 h'],
    [864_000_000, '10 d'],
  ])('%d ms are %s', (ms, words) => {
    expect(durationWords(ms)).toBe(words);
  });

  it('says how long ago, and how long still', () => {
    expect(agoWords('2026-11-22T09:59:57.000Z', nowMs)).toBe('3 s ago');
    expect(agoWords('2026-11-22T10:00:05.000Z', nowMs)).toBe('just now');
    expect(ageWords('2026-11-22T10:00:05.000Z', nowMs)).toBe('0 s');
    expect(deadlineWords('2026-11-22T10:04:00.000Z', nowMs)).toBe('4 min');
    expect(deadlineWords('2026-11-22T09:59:00.000Z', nowMs)).toBe('over');
    expect(deadlineWords(null, nowMs)).toBe('never');
  });

  it('does not trust a time to be one', () => {
    expect(agoWords('yesterday', nowMs)).toBe('at an unknown time');
    expect(ageWords('', nowMs)).toBe('?');
    expect(deadlineWords('soon', nowMs)).toBe('?');
  });
});

it('numbers have their endings', () => {
  expect([1, 2, 3, 4, 11, 12, 13, 21, 22, 103].map(ordinal)).toEqual([
    ...['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '22nd', '103rd'],
  ]);
});
