/** Returns whether a text is a time as it is stored. Only such times sort as texts. */
export function isStoredTime(text: string): boolean {
  return /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/.test(text);
}

/** The stored time `ms` milliseconds after a stored time; null for `never`. */
export function storedAfter(stored: string, ms: number | 'never'): string | null {
  return ms === 'never' ? null : new Date(Date.parse(stored) + ms).toISOString();
}

/** Returns whether a deadline has come at a stored time; never for null. Stored times sort as texts. */
export function hasCome(deadline: string | null | undefined, at: string): boolean {
  return typeof deadline === 'string' && deadline <= at;
}
