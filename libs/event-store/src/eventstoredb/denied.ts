const needed = 'do this; it needs the right to read $all, and to append to streams and read them';

/** Why a call failed. For denied access: the missing right, and the command that grants it. */
export function whyOf(error: unknown, right = needed): string {
  if (!(error instanceof Error)) return String(error);
  if (!('type' in error) || error.type !== 'access-denied') return error.message;
  return `${error.message}: the service's user may not ${right}. Grant it with: countersign store secure`;
}
