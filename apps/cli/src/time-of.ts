/** A date or a time, as RFC 3339 with milliseconds. Undefined for a text that is none. */
export function timeOf(text: string): string | undefined {
  const atMs = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(atMs) ? undefined : new Date(atMs).toISOString();
}
