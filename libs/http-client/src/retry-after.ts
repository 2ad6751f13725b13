/** The wait of a `Retry-After` header in ms, at most `maxMs`; undefined when it is absent or unreadable. */
export function retryAfterMs(header: string | null, now: number, maxMs: number): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\d{1,9}$/.test(header.trim()) ? Number(header) : undefined;
  const delayMs = seconds === undefined ? Date.parse(header) - now : seconds * 1000;
  return Number.isNaN(delayMs) ? undefined : Math.min(maxMs, Math.max(0, delayMs));
}
