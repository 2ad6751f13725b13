import { createTokenBuckets } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';

/** How many requests a principal may send per second, over HTTP and over Kafka. */
export const requestsPerSecondDefault = 5000;

/**
 * The rate of each principal. Returns a function that counts a request of this principal and returns 0. Beyond the rate it
 * counts nothing and returns after how many ms the principal may send the next one.
 */
export function createPrincipalRate(
  clock: Pick<Clock, 'monotonic'>,
  requestsPerSecond = requestsPerSecondDefault,
): (principalKey: string) => number {
  return createTokenBuckets({ burst: requestsPerSecond, perSecond: requestsPerSecond }, clock);
}
