import { describe, expect, it } from '@jest/globals';
import { firstGap, overlap, withArea } from './seen-area.js';
import type { Area } from './seen-area.js';

const size = { width: 300, height: 1000 };
const rows = (top: number, bottom: number): Area => ({ left: 0, top, right: 300, bottom });
const gapOf = (...areas: readonly Area[]) =>
  firstGap(
    areas.reduce<readonly Area[]>((all, area) => withArea(all, area), []),
    size,
  );

describe('what of a part was on screen', () => {
  it('is all of it once its screens meet, in any order', () => {
    expect(gapOf()).toEqual({ left: 0, top: 0 });
    expect(gapOf(rows(0, 400), rows(600, 1000))).toEqual({ left: 0, top: 400 });
    expect(gapOf(rows(600, 1000), rows(0, 400), rows(380, 620))).toBeUndefined();
    expect(gapOf(rows(20, 1000))).toEqual({ left: 0, top: 0 });
    expect(gapOf(rows(0, 980))).toEqual({ left: 0, top: 980 });
  });

  it('is not all of it while something to the side was not', () => {
    const left = { left: 0, top: 0, right: 200, bottom: 1000 };
    expect(gapOf(left)).toEqual({ left: 200, top: 0 });
    expect(gapOf(left, { ...left, left: 150, right: 300, bottom: 500 })).toEqual({ left: 200, top: 500 });
    expect(gapOf(left, { ...left, left: 150, right: 300 })).toBeUndefined();
  });

  it('has two screens as one, however many there were', () => {
    const nine = Array.from({ length: 9 }, (_, nth) => rows(nth * 100, nth * 100 + 110));
    expect(nine.reduce<readonly Area[]>((all, area) => withArea(all, area), [])).toEqual([rows(0, 910)]);
  });

  it('is what two looks have in common', () => {
    expect(overlap(rows(0, 400), rows(300, 700))).toEqual(rows(300, 400));
    expect(overlap(rows(0, 400), rows(400, 700))).toBeUndefined();
  });
});
