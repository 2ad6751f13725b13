import { cursorOf, positionOf } from '../cursor.js';
import type { List } from '../cursor.js';
import type { Page } from '../read-model.js';
import type { Columns } from './stored-row.js';

export const pageSizeDefault = 100;

/** Attack: many rows with large arguments, read as one page. A page ends beyond this many bytes of rows. */
const pageBytesMax = 8 * 1024 * 1024;

/** The same index is walked from either end. */
const orders = {
  oldest: { start: 0, beyond: '>', direction: 'ASC' },
  newest: { start: Number.MAX_SAFE_INTEGER, beyond: '<', direction: 'DESC' },
} as const;

/** Where a page of a list begins, and the words of its query. */
export interface PageStart {
  readonly list: List;
  readonly after: number;
  readonly beyond: '>' | '<';
  readonly direction: 'ASC' | 'DESC';
}

/** Returns the start of a page; undefined for a cursor that no page of this list returned. */
export function pageStart(list: List, order: 'oldest' | 'newest', cursor: string | undefined): PageStart | undefined {
  const { start, beyond, direction } = orders[order];
  const after = cursor === undefined ? start : positionOf(list, cursor);
  return after === undefined ? undefined : { list, after, beyond, direction };
}

/**
 * The rows of one page, at least one, and the cursor when more follow. Each found row has its place in `page_seq` and
 * its size in `bytes`. A row for which `toRow` returns undefined is passed over.
 */
export function pageOf<Row>(
  { list }: PageStart,
  found: Iterable<Columns>,
  limit: number,
  position: number,
  toRow: (columns: Columns) => Row | undefined,
): Page<Row> {
  const rows: Row[] = [];
  let [taken, bytes, last] = [0, 0, 0];
  for (const columns of found) {
    bytes += Number(columns['bytes']);
    if (taken === limit || (taken > 0 && bytes > pageBytesMax))
      return { status: 'page', rows, nextCursor: cursorOf(list, last), position };
    taken += 1;
    last = Number(columns['page_seq']);
    const row = toRow(columns);
    if (row !== undefined) rows.push(row);
  }
  return { status: 'page', rows, nextCursor: null, position };
}
