import { sleep } from './clock.js';
import type { Clock } from './clock.js';

/** Waits for something, but no longer than so many ms; it then goes on unheard. @throws what it throws by then */
export async function atMost(clock: Clock, timeoutMs: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([work, sleep(clock, timeoutMs, over.signal)]);
  } finally {
    over.abort();
  }
}

/** What something resolves with. @throws when that takes longer than so many ms: it then goes on unheard */
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

/** What something resolves with. @throws the signal's reason when that aborts first; the work then goes on unheard */
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
