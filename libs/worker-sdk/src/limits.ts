import type { Clock } from '@countersign/contracts/clock';
import { linkedController } from '@countersign/http-client';
import { checkWaitMs } from './tools/check-numbers.js';

/** The longest wait, and what the tools get. */
export interface WaitOptions<C = unknown> {
  /** Reaches the predicates and the tools that run because of this call. It is not stored and not sent. */
  readonly context?: C | undefined;
  /** Stops the waiting, with its reason as the error. Tools that run go on. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Returns the current state when the time is over. 0 looks once: it starts what may run, and does not wait for it. Throws
   * `unreachable` if the server has not responded by then, and after 5 s at the earliest. Default: no limit.
   */
  readonly timeoutMs?: number | undefined;
}

/** `step`, `wait` and the like: the limits, and whose state it is. */
export interface StateOptions<C = unknown> extends WaitOptions<C> {
  /**
   * The application's own user, such as an id from its authentication. The returned state is bound to it: only the same text
   * resumes it, any other throws `state-not-bound` before anything is read or runs. So does a text for a state of no user.
   */
  readonly bindTo?: string | undefined;
}

/** Does `work` within limits. Resolves to undefined at a timeout, and rejects at an abort. */
export type Within = <T>(limits: WaitOptions, work: (signal: AbortSignal) => Promise<T>) => Promise<T | undefined>;

/** `stopping` ends every wait. */
export function createWithin(clock: Clock, stopping: AbortSignal): Within {
  return async ({ signal, timeoutMs }, work) => {
    checkWaitMs('timeoutMs', timeoutMs);
    const timeIsOver = new Error('the time to wait is over');
    const limit = linkedController(signal, stopping);
    const onTimeout = (): void => {
      limit.abort(timeIsOver);
    };
    const cancel = timeoutMs === undefined ? undefined : clock.setTimer(timeoutMs, onTimeout);
    try {
      return await work(limit.signal);
    } catch (error) {
      if (error !== timeIsOver) throw error;
      return undefined;
    } finally {
      cancel?.();
      limit.release();
    }
  };
}

/** The same limits, the later the shorter. */
export function createCountdown<L extends WaitOptions>(clock: Clock, limits: L): () => L {
  const { timeoutMs } = limits;
  checkWaitMs('timeoutMs', timeoutMs);
  const startedAt = clock.monotonic();
  return () => ({
    ...limits,
    timeoutMs: timeoutMs === undefined ? undefined : Math.max(0, timeoutMs - (clock.monotonic() - startedAt)),
  });
}
