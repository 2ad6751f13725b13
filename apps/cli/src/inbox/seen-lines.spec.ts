import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { SeenLines } from './seen-lines.js';
import { firstUnseen, withShown } from './seen-lines.js';

const all = { needed: 40, columns: 80 };

it('names the first line that no frame showed, for any frames', () => {
  const frame = fc.tuple(fc.nat({ max: 40 }), fc.integer({ min: 1, max: 20 }));
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 12 }), (frames) => {
      let seen: SeenLines | undefined;
      const lines = new Set<number>();
      for (const [from, rows] of frames) {
        seen = withShown(seen, 'card', { ...all, from, to: from + rows });
        for (let line = from; line < from + rows; line += 1) lines.add(line);
      }
      const missing = Array.from({ length: all.needed }, (_, line) => line).filter((line) => !lines.has(line));
      const gap = firstUnseen(seen, 'card', { ...all, from: 0, to: 1 });
      expect(gap?.from).toBe(missing[0]);
      if (gap === undefined) return;
      expect(gap.to).toBeLessThanOrEqual(all.needed);
      expect(missing).toEqual(expect.arrayContaining([gap.to - 1]));
      expect(gap.to === all.needed || lines.has(gap.to)).toBe(true);
    }),
  );
});

it.each([
  ['another card', 'other', all],
  ['another width', 'card', { ...all, columns: 40 }],
  ['lines that came', 'card', { ...all, needed: 41 }],
])('forgets the lines at %s', (_, subject, now) => {
  const seen = withShown(undefined, 'card', { ...all, from: 0, to: 40 });
  expect(firstUnseen(seen, 'card', { ...all, from: 0, to: 40 })).toBeUndefined();
  expect(firstUnseen(seen, subject, { ...now, from: 0, to: 40 })).toEqual({ from: 0, to: now.needed });
});
