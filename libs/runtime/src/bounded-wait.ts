import { sleep } from '@countersign/contracts/clock';
import type { Clock } from '@countersign/contracts/clock';

/** Waits for a promise for at most this many ms; then ignores it. @throws its error, if it comes in time */
export async function atMost(clock: Clock, timeoutMs: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([work, sleep(clock, timeoutMs, over.signal)]);
  } finally {
    over.abort();
  }
}

/** Returns a promise's value. @throws when it takes longer than this many ms; its later outcome is ignored */
export async function within<T>(clock: Clock, timeoutMs: number, what: string, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const fail = (): void => late.reject(new Error(`it took longer than ${timeoutMs / 1000} s ${what}`));
  const cancel = clock.setTimer(timeoutMs, fail);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    cancel();
  }
}

/** Returns a promise's value. @throws the signal's reason when that aborts first; the later outcome is ignored */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
