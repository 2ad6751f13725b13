/** How waits between attempts grow. */
export interface BackoffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * The wait before attempt `failures + 1`: doubled each time up to `maxMs`, and between half and all of that by chance,
 * so that a thousand workers cut off together do not come back together.
 * @param random a number in [0, 1).
 */
export function backoffMs(failures: number, random: () => number, options: BackoffOptions): number {
  const full = Math.min(options.maxMs, options.firstMs * 2 ** Math.min(failures - 1, 30));
  return full / 2 + (random() * full) / 2;
}

/** What a `Retry-After` header asks for, in ms and at most `maxMs`; undefined when it says nothing readable. */
export function retryAfterMs(header: string | null, now: number, maxMs: number): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\d{1,9}$/.test(header.trim()) ? Number(header) : undefined;
  const delayMs = seconds === undefined ? Date.parse(header) - now : seconds * 1000;
  return Number.isNaN(delayMs) ? undefined : Math.min(maxMs, Math.max(0, delayMs));
}
