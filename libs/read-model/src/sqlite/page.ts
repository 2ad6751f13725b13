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

/** How many rows a page may have, and how many may be read for it. */
export interface PageBounds {
  readonly limit: number;
  readonly scanned: number;
}

/**
 * The rows of one page, and the cursor when more follow. Each found row has its place in `page_seq` and its size in
 * `bytes`. A row for which `toRow` returns undefined is passed over.
 */
export function pageOf<Row>(
  cursorAfter: (columns: Columns) => string,
  found: Iterable<Columns>,
  { limit, scanned }: PageBounds,
  position: number,
  toRow: (columns: Columns) => Row | undefined,
): Page<Row> {
  const rows: Row[] = [];
  let [read, bytes] = [0, 0];
  let last: Columns | undefined;
  for (const columns of found) {
    bytes += Number(columns['bytes']);
    const isFull = rows.length === limit || read === scanned || bytes > pageBytesMax;
    if (last !== undefined && isFull) return { status: 'page', rows, nextCursor: cursorAfter(last), position };
    read += 1;
    last = columns;
    const row = toRow(columns);
    if (row !== undefined) rows.push(row);
  }
  return { status: 'page', rows, nextCursor: null, position };
}

/** The cursors of a list in the order of the log. */
export function inLogOrder({ list }: PageStart): (columns: Columns) => string {
  return (columns) => cursorOf(list, Number(columns['page_seq']));
}
