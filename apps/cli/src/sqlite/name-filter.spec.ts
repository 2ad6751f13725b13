import { expect, it } from '@jest/globals';
import { createNameFilter } from './name-filter.js';

it('a filter of names misses none that was added, and takes few others for one', () => {
  const filter = createNameFilter();
  const names = Array.from({ length: 20_000 }, (_, nth) => `toolCall-tc_${String(nth * 7919)}`);
  for (const name of names) filter.add(name);
  expect(names.filter((name) => !filter.mayHave(name))).toEqual([]);
  const others = names.map((name) => `${name}x`).filter((name) => filter.mayHave(name));
  expect(others.length).toBeLessThan(20);
});
