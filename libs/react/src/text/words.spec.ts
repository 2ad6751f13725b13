import { expect, it } from '@jest/globals';
import { problemWords } from './words.js';

const wordsOf = (detail: string) => problemWords({ status: 409, code: 'stopped', detail }, 0);
const rest = '. Nothing was recorded. You can deny it, or answer again when an admin has lifted the stop.';

it('a stop is told to the people of an application without the command that lifts it', () => {
  const stop = 'ann stopped all calls at 2026-11-30T12:00:00.000Z: it pays twice';
  const remedy = 'an admin lifts the stop: countersign resume stop_1';
  expect(wordsOf(`${stop}. Wait until ${remedy}`)).toBe(stop + rest);
  expect(wordsOf(`${stop}. Wait until Monday. Wait until ${remedy}`)).toBe(`${stop}. Wait until Monday${rest}`);
  expect(wordsOf('Other words')).toBe(`Other words${rest}`);
});
