import { backoffMs } from '@countersign/contracts';

const backoff = { firstMs: 1_000, maxMs: 30_000 };

/** The pause after a number of failures in a row: 1 s, each time twice as long, at most 30 s. */
export function retryPauseMs(failures: number): number {
  return backoffMs(failures, backoff);
}
