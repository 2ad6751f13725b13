import { parseDurationMs } from './duration.js';

describe('parseDurationMs', () => {
  it.each([
    ['30s', 30_000],
    ['10m', 600_000],
    ['2h', 7_200_000],
    ['3d', 259_200_000],
  ])('reads %s', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  it.each(['', '0s', '1', '1w', '-1s', '1.5h', ' 1s'])('refuses "%s"', (text) => {
    expect(parseDurationMs(text)).toBeUndefined();
  });
});
