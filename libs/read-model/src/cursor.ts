/** The lists that have pages in the order of the log. */
export const lists = ['approvals', 'calls', 'runs', 'grants'] as const;

export type List = (typeof lists)[number];

/** The lists that are sorted by a value of the row. Each level of risk is one. */
export const sortedLists = [
  'approvals-by-expiry',
  'approvals-of-high',
  'approvals-of-medium',
  'approvals-of-low',
  'approvals-of-none',
] as const;

export type SortedList = (typeof sortedLists)[number];

const form = /^2\.([a-z]+)\.(0|[1-9][0-9]{0,15})$/;
const sortedForm = /^2\.([a-z-]+)\.(0|[1-9][0-9]{0,15})\.(0|[1-9][0-9]{0,15})$/;

/** The cursor of the page after a row of a list: opaque to callers, so that its form may change. */
export function cursorOf(list: List, seq: number): string {
  return Buffer.from(`2.${list}.${String(seq)}`, 'latin1').toString('base64url');
}

/** Returns the position of a cursor; undefined for a cursor that no page of this list returned. */
export function positionOf(list: List, cursor: string): number | undefined {
  const [, ofList, digits] = form.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  // Lenient decoding would accept many strings for one cursor.
  return ofList === list && cursorOf(list, Number(digits)) === cursor ? Number(digits) : undefined;
}

/** A place in a sorted list: the value of the row that it is sorted by, and the row. */
export interface SortedPlace {
  readonly key: number;
  readonly seq: number;
}

/** The cursor of the page after a row of a sorted list. */
export function sortedCursorOf(list: SortedList, { key, seq }: SortedPlace): string {
  return Buffer.from(`2.${list}.${String(key)}.${String(seq)}`, 'latin1').toString('base64url');
}

/** Like `positionOf`, of a sorted list. */
export function sortedPlaceOf(list: SortedList, cursor: string): SortedPlace | undefined {
  const [, ofList, key, seq] = sortedForm.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  const place = { key: Number(key), seq: Number(seq) };
  return ofList === list && sortedCursorOf(list, place) === cursor ? place : undefined;
}
