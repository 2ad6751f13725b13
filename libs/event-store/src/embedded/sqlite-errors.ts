/** SQLite's primary result codes that are handled separately. */
export const sqliteCodes = { sqlError: 1, busy: 5, ioError: 10, corrupt: 11, full: 13, notADatabase: 26 } as const;

/**
 * Returns whether an error comes from SQLite, with one of the given primary result codes (any code when none is given).
 */
export function isSqliteError(error: unknown, ...codes: readonly number[]): boolean {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false;
  return codes.length === 0 || codes.includes(error.errcode & 0xff);
}

/** The reason in one line. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
