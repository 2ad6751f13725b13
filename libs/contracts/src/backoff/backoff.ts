/** How the waits between tries grow. */
export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * The wait after so many failures in a row, in ms: doubled each time, up to `maxMs`. With `random`, between half and all of
 * that by chance, so that a thousand clients that were cut off together do not come back together.
 * @param random gives a number in [0, 1).
 */
export function backoffMs(failures: number, { firstMs, maxMs }: Backoff, random?: () => number): number {
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return random === undefined ? full : full / 2 + (random() * full) / 2;
}
