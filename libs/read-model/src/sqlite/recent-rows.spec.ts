import type { CallRow } from '../call-row.js';
import { createRecentRows } from './recent-rows.js';
import type { Entry } from './recent-rows.js';

function entry(bytes: number): Entry {
  return { row: {} as CallRow, stored: null, lastEventAt: '', requestBytes: bytes, progressBytes: 0 };
}

describe('the rows used last', () => {
  it('are kept up to a count, the one not used for the longest time out first', () => {
    const rows = createRecentRows(2, 1_000);
    rows.put('a', entry(1));
    rows.put('b', entry(1));
    rows.get('a');
    rows.put('c', entry(1));
    expect(['a', 'b', 'c'].filter((key) => rows.get(key) !== undefined)).toEqual(['a', 'c']);
  });

  it('are kept up to a total size, which follows each change and removal', () => {
    const rows = createRecentRows(100, 10);
    rows.put('a', entry(6));
    rows.put('a', entry(4));
    rows.put('b', entry(6));
    expect(rows.get('a')).toBeDefined();
    expect(rows.take('a')).toBeDefined();
    expect(rows.take('a')).toBeUndefined();
    rows.put('c', entry(4));
    expect(rows.get('b')).toBeDefined();
    rows.put('d', entry(1));
    expect(['b', 'c', 'd'].filter((key) => rows.get(key) !== undefined)).toEqual(['b', 'd']);
  });

  it('do not keep one that is heavier than all of them may be', () => {
    const rows = createRecentRows(100, 10);
    rows.put('a', entry(11));
    expect(rows.get('a')).toBeUndefined();
  });
});
