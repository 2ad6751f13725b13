import { expect, it } from '@jest/globals';
import { createLruMap } from './lru-map.js';

const keys = Array.from({ length: 100 }, (_, n) => `k${String(n)}`);

it('keeps about so many keys', () => {
  const map = createLruMap<string>(8);
  for (const key of keys) map.set(key, key);
  const kept = keys.filter((key) => map.get(key) !== undefined);
  expect(kept.length).toBeGreaterThanOrEqual(6);
  expect(kept.length).toBeLessThanOrEqual(12);
  expect(kept.at(-1)).toBe('k99');
});

it('keeps less when the values are heavy, the youngest ones', () => {
  const map = createLruMap<string>(1000, { of: (value) => value.length, max: 100 });
  for (const key of keys) map.set(key, 'x'.repeat(20));
  const kept = keys.filter((key) => map.get(key) !== undefined);
  expect(kept.length * 20).toBeLessThanOrEqual(120);
  expect(kept.length).toBeGreaterThanOrEqual(2);
});

it('weighs a value that takes the place of another one, or goes, only once', () => {
  const map = createLruMap<string>(1000, { of: (value) => value.length, max: 100 });
  map.set('kept', 'x');
  for (let times = 0; times < 50; times += 1) {
    map.set('changed', 'x'.repeat(20));
    map.set('gone', 'x'.repeat(20));
    map.delete('gone');
  }
  expect(map.get('kept')).toBe('x');
});
