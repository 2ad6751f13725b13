import { backoffMs } from '@countersign/contracts';
import { sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { ExecutionsUnavailableError } from './executions.js';

export interface RetryPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** Ends the waiting: what is asked last is thrown. */
  readonly signal: AbortSignal;
}

/** How often something is asked again that fails in a way that time alone may not mend. */
const unexpectedMax = 5;
const askBackoff = { firstMs: 1_000, maxMs: 5_000 };

/** Asks until there is an answer. While the ledger is down it waits as long as it takes: nothing is lost, nothing parked. */
export async function retryUntilAnswered<T>(ask: () => Promise<T>, { clock, log, signal }: RetryPorts): Promise<T> {
  let unexpected = 0;
  for (let failures = 1; ; failures += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ExecutionsUnavailableError)) unexpected += 1;
      if (signal.aborted || unexpected >= unexpectedMax) throw error;
      log.warn({ error }, 'the ledger does not answer, it is asked again');
      await sleep(clock, backoffMs(failures, askBackoff), signal);
    }
  }
}
