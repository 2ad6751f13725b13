import { describe, expect, it } from '@jest/globals';
import { ageWords, agoWords, deadlineWords, durationWords, ordinal, timeWords } from './time-words.js';

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

  it.each([
    ['2026-11-22T10:00:00.123Z', '2026-11-22 10:00:00 UTC'],
    ['2026-11-22T10:00:00.999999Z', '2026-11-22 10:00:00 UTC'],
    ['2026-11-22T10:00:00Z', '2026-11-22 10:00:00 UTC'],
    ['2026-11-22T10:00Z', '2026-11-22 10:00:00 UTC'],
    ['2026-12-01T00:30:00+01:00', '2026-11-30 23:30:00 UTC'],
  ])('%s is written %s', (time, words) => {
    expect(timeWords(time)).toBe(words);
  });

  it.each(['', 'soon', '2026', '2026-11-22T10:00:00', '2026-13-01T00:00:00Z', '\u001B[2J2026-11-22T10:00:00.000Z'])(
    'a time that people cannot rely on is unknown: %j',
    (time) => {
      expect(timeWords(time)).toBe('an unknown time');
    },
  );

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
