import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Durations } from './durations.js';

const of = (values: readonly number[]): Durations => {
  const durations = new Durations();
  for (const value of values) durations.add(value);
  return durations;
};
const nearestRank = (values: readonly number[], part: number): number | null =>
  values.toSorted((one, other) => one - other)[Math.max(1, Math.ceil(part * values.length)) - 1] ?? null;

describe('percentiles of durations', () => {
  it('are null without any', () => {
    expect(of([]).percentiles(0.5, 0.9)).toEqual([null, null]);
  });

  it('are those of the sorted list, by nearest rank', () => {
    const values = fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (list, part) => {
        expect(of(list).percentiles(part)).toEqual([nearestRank(list, part)]);
      }),
    );
  });

  it('are the same for many and for merged ones', () => {
    const list = Array.from({ length: 20_000 }, (_, n) => (n * 7_919) % 104_729);
    const parts = [0, 0.5, 0.9, 1];
    const expected = parts.map((part) => nearestRank(list, part));
    expect(of(list).percentiles(...parts)).toEqual(expected);
    const merged = of(list.slice(0, 9_000));
    merged.merge(of(list.slice(9_000)));
    expect(merged.percentiles(...parts)).toEqual(expected);
  });
});
