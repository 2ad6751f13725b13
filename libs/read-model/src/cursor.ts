const form = /^1\.(0|[1-9][0-9]{0,15})$/;

/** The cursor of the page after an approval: opaque to callers, so that its form may change. */
export function toCursor(seq: number): string {
  return Buffer.from(`1.${String(seq)}`, 'latin1').toString('base64url');
}

/** The position that a cursor stands for; undefined for one that we did not make. */
export function fromCursor(cursor: string): number | undefined {
  const digits = form.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.[1];
  // Lenient decoding would take many strings for one cursor.
  return digits !== undefined && toCursor(Number(digits)) === cursor ? Number(digits) : undefined;
}
