/** Time as an input. */
export interface Clock {
  /** Wall time in ms since the epoch. It can jump: data only, never used to measure a wait. */
  readonly now: () => number;
  /** Ms since a fixed moment; never decreases. */
  readonly monotonic: () => number;
  /** Calls `fn` once after at least `delayMs`, which may be any length, Infinity too. Returns a function that cancels it. */
  readonly setTimer: (delayMs: number, fn: () => void) => () => void;
}

/** `setTimeout` fires at once beyond 24.8 days, so a long wait is several short ones on the monotonic clock. */
const waitMsMax = 3_600_000;

/** The real clock. A pending timer keeps the process alive until it is cancelled. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer: (delayMs, fn) => {
    const due = performance.now() + delayMs;
    let timer: ReturnType<typeof setTimeout>;
    // A timer may fire a little early against the monotonic clock: what is left is waited for, too.
    const wait = (): void => {
      const leftMs = Math.ceil(due - performance.now());
      timer = setTimeout(() => (due > performance.now() ? wait() : fn()), Math.min(Math.max(0, leftMs), waitMsMax));
    };
    wait();
    return () => {
      clearTimeout(timer);
    };
  },
};
