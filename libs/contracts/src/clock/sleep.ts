import type { Clock } from './clock.js';

/** Resolves after `delayMs` on the given clock, or as soon as the signal aborts. It never rejects. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => wait(clock, delayMs, signal, resolve, resolve));
}

/** Resolves after `delayMs` on the given clock. @throws the signal's reason, as soon as it aborts */
export function sleepOrThrow(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => wait(clock, delayMs, signal, resolve, () => reject(reasonOf(signal))));
}

/** Calls one of the two functions, once. */
function wait(
  clock: Clock,
  delayMs: number,
  signal: AbortSignal | undefined,
  over: () => void,
  aborted: () => void,
): void {
  if (signal?.aborted === true) {
    aborted();
    return;
  }
  const onAbort = (): void => {
    cancel();
    aborted();
  };
  const cancel = clock.setTimer(delayMs, () => {
    signal?.removeEventListener('abort', onAbort);
    over();
  });
  signal?.addEventListener('abort', onAbort, { once: true });
}

/** Returns why a signal aborted, as an Error. */
export function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error(`aborted: ${String(reason)}`);
}
