const form = /^1\.(0|[1-9][0-9]{0,15})$/;

/** The cursor of the page after an approval: opaque to callers, so that its form may change. */
export function toCursor(seq: number): string {
  return Buffer.from(`1.${String(seq)}`, 'latin1').toString('base64url');
}

/** Returns the position of a cursor; undefined for a cursor that we did not make. */
export function fromCursor(cursor: string): number | undefined {
  const digits = form.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.[1];
  // Lenient decoding would accept many strings for one cursor.
  return digits !== undefined && toCursor(Number(digits)) === cursor ? Number(digits) : undefined;
}
