import { describe, expect, it } from '@jest/globals';
import { cursorOf, lists, positionOf, sortedCursorOf, sortedLists, sortedPlaceOf } from './cursor.js';

describe('a cursor of a sorted list', () => {
  it.each(sortedLists)('of %s has its place in that list and in no other', (list) => {
    const place = { key: 8_640_000_000_000_000, seq: Number.MAX_SAFE_INTEGER };
    const cursor = sortedCursorOf(list, place);
    expect(sortedPlaceOf(list, cursor)).toEqual(place);
    for (const other of sortedLists.filter((one) => one !== list)) expect(sortedPlaceOf(other, cursor)).toBeUndefined();
    for (const other of lists) expect(positionOf(other, cursor)).toBeUndefined();
    expect(sortedPlaceOf(list, cursorOf('approvals', 42))).toBeUndefined();
    expect(cursor.length).toBeLessThanOrEqual(128);
  });
});

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
