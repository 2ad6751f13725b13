import { backoffMs } from '@countersign/contracts';
import { PoisonMessageError } from '@countersign/message-bus';
import { sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { ExecutionsUnavailableError } from './executions.js';

export interface RetryPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** Ends the waiting: what is asked last is thrown. */
  readonly signal: AbortSignal;
}

/** How often a failure is retried that time alone may not fix. */
const unexpectedMax = 5;
const askBackoff = { firstMs: 1_000, maxMs: 5_000 };

/** Retries until there is a response. During an outage of the ledger it waits: nothing is lost, nothing parked. */
export async function retryUntilAnswered<T>(ask: () => Promise<T>, { clock, log, signal }: RetryPorts): Promise<T> {
  let unexpected = 0;
  for (let failures = 1; ; failures += 1) {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof PoisonMessageError) throw error;
      if (!(error instanceof ExecutionsUnavailableError)) unexpected += 1;
      if (signal.aborted || unexpected >= unexpectedMax) throw error;
      log.warn({ error }, 'the ledger does not respond; retrying');
      await sleep(clock, backoffMs(failures, askBackoff), signal);
    }
  }
}
