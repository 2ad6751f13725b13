/** The parameters of exponential backoff. */
export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * Returns the wait after this many failures in a row, in ms: doubled each time, up to `maxMs`. With `random` it is a
 * random value between half and all of that, so that many clients do not reconnect together.
 * @param random returns a number in [0, 1).
 */
export function backoffMs(failures: number, { firstMs, maxMs }: Backoff, random?: () => number): number {
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return random === undefined ? full : full / 2 + (random() * full) / 2;
}
