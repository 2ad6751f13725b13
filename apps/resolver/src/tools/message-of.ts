/** In UTF-16 units. The ledger accepts longer errors, so it never refuses a message of this length. */
const lengthMax = 8192;

/** The message of any value that a tool may throw, cut, as text that can be recorded. Never throws. */
export function messageOf(thrown: unknown): string {
  const message = typeof thrown === 'string' ? thrown : memberOf(thrown);
  return (message ?? `thrown ${typeof thrown}`).slice(0, lengthMax).toWellFormed();
}

function memberOf(thrown: unknown): string | undefined {
  try {
    const message: unknown = (thrown as { readonly message?: unknown } | null | undefined)?.message;
    return typeof message === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}
