import type { Clock } from './clock.js';

/**
 * Starts to measure a time that must not be underestimated, such as that of a lease. Returns a function that tells how
 * many ms have passed. The longer of two measures counts: the monotonic clock stands still while a machine is suspended,
 * and the wall clock can be put back.
 */
export function startStopwatch(clock: Pick<Clock, 'monotonic' | 'now'>): () => number {
  const [monotonic, wall] = [clock.monotonic(), clock.now()];
  return () => Math.max(clock.monotonic() - monotonic, clock.now() - wall);
}
