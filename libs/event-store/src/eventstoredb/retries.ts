import type { Clock, Ids } from '@countersign/runtime';
import { sleep } from '@countersign/runtime';
import { storeBackoffMs } from '../append-until-known.js';
import { meaningOf } from './errors.js';
import type { ErrorMeaning } from './errors.js';

const triesMax = 3;
/** Steps of the backoff: a server that has just restarted is back within the third. */
const backoffStep = 3;

/** The dependencies of retries. */
export interface RetryPorts {
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Retries a limited number of times what failed with a transient error. */
export async function withRetries<T>(
  { clock, ids }: RetryPorts,
  isTransient: (verdict: ErrorMeaning) => boolean,
  work: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === triesMax || !isTransient(meaningOf(error))) throw error;
      await sleep(clock, storeBackoffMs(ids, attempt + backoffStep));
    }
  }
}
