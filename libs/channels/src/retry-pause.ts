const pauseMsMax = 30_000;

/** The pause after so many failures in a row: 1 s, each time twice as long, at most 30 s. */
export function retryPauseMs(failures: number): number {
  return Math.min(pauseMsMax, 1_000 * 2 ** Math.min(failures - 1, 10));
}
