/** Time as an input: nothing else in Countersign reads a clock or sets a timer. */
export interface Clock {
  /** Wall time in ms since the epoch. It can jump: data only, never used to measure a wait. */
  readonly now: () => number;
  /** Ms since a fixed moment; never decreases. */
  readonly monotonic: () => number;
  /** Calls `fn` once after at least `delayMs`, which may be any length. Returns a function that cancels it. */
  readonly setTimer: (delayMs: number, fn: () => void) => () => void;
}

/** `setTimeout` fires at once beyond 24.8 days, so a long wait is several short ones on the monotonic clock. */
const waitMsMax = 3_600_000;

/** The real clock. A pending timer keeps the process alive until it is cancelled. */
export function createSystemClock(): Clock {
  const monotonic = (): number => performance.now();
  return {
    now: () => Date.now(),
    monotonic,
    setTimer: (delayMs, fn) => {
      const due = monotonic() + delayMs;
      let timer: NodeJS.Timeout;
      // A timer may fire a little early against the monotonic clock: what is left is waited for, too.
      const wait = (): void => {
        const leftMs = Math.ceil(due - monotonic());
        timer = setTimeout(() => (due > monotonic() ? wait() : fn()), Math.min(Math.max(0, leftMs), waitMsMax));
      };
      wait();
      return () => {
        clearTimeout(timer);
      };
    },
  };
}

/** Resolves after `delayMs` on the given clock, or at once when the signal aborts; never rejects. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const done = (): void => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.setTimer(delayMs, done);
    signal?.addEventListener('abort', done);
  });
}
