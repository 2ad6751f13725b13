/** The time that was written last: the events of one command have the same one several times. */
let written = { epochMs: 0, text: new Date(0).toISOString() };

/** A stored time (RFC 3339, UTC, milliseconds) out of epoch milliseconds. */
export function toStored(epochMs: number): string {
  if (epochMs !== written.epochMs) written = { epochMs, text: new Date(epochMs).toISOString() };
  return written.text;
}

/** Epoch milliseconds out of a stored time. */
export function toEpochMs(stored: string): number {
  return Date.parse(stored);
}

/** The stored time `durationMs` after `epochMs`; null for `never`. */
export function storedAfter(epochMs: number, durationMs: number | 'never'): string | null {
  return durationMs === 'never' ? null : toStored(epochMs + durationMs);
}

/** Returns whether a stored time has come; never for null. */
export function hasCome(stored: string | null, atMs: number): boolean {
  return stored !== null && toEpochMs(stored) <= atMs;
}
