/** The lists that have pages. */
export const lists = ['approvals', 'calls', 'runs', 'grants'] as const;

export type List = (typeof lists)[number];

const form = /^2\.([a-z]+)\.(0|[1-9][0-9]{0,15})$/;

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
