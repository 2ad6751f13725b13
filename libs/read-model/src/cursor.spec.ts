import { describe, expect, it } from '@jest/globals';
import { cursorOf, lists, positionOf } from './cursor.js';

describe('a cursor', () => {
  it.each(lists)('of %s has its position in that list and in no other', (list) => {
    const cursor = cursorOf(list, 42);
    expect(positionOf(list, cursor)).toBe(42);
    for (const other of lists.filter((one) => one !== list)) expect(positionOf(other, cursor)).toBeUndefined();
  });

  it('has at most the 64 characters that a query may have', () => {
    for (const list of lists) expect(cursorOf(list, Number.MAX_SAFE_INTEGER).length).toBeLessThanOrEqual(64);
  });
});
