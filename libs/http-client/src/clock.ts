/** Time as an input for waits. It does not read the time of day. */
export interface Clock {
  /** Ms since a fixed moment; never decreases. */
  readonly monotonic: () => number;
  /** Calls `fn` once after at least `delayMs`, which may be any length, Infinity too. Returns a function that cancels it. */
  readonly setTimer: (delayMs: number, fn: () => void) => () => void;
}

/** `setTimeout` fires at once beyond 24.8 days, so a long wait is several short ones. */
const waitMsMax = 3_600_000;

/** The real clock. A pending timer keeps the process alive until it is cancelled. */
export const systemClock: Clock = {
  monotonic: () => performance.now(),
  setTimer: (delayMs, fn) => {
    const due = performance.now() + delayMs;
    let timer: NodeJS.Timeout;
    const wait = (leftMs: number): void => {
      timer = leftMs <= waitMsMax ? setTimeout(fn, leftMs) : setTimeout(() => wait(due - performance.now()), waitMsMax);
    };
    wait(delayMs);
    return () => {
      clearTimeout(timer);
    };
  },
};

/** Resolves after `delayMs`; rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(reasonOf(signal));
      return;
    }
    const onAbort = (): void => {
      cancel();
      reject(reasonOf(signal));
    };
    const cancel = clock.setTimer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Why a signal aborted, as an Error. */
export function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error(`aborted: ${String(reason)}`);
}

/** A controller that aborts with other signals too. */
export interface LinkedController {
  readonly signal: AbortSignal;
  readonly abort: (reason: Error) => void;
  /** MUST be called when done, or a longer-lived signal keeps a reference to it. */
  readonly release: () => void;
}

/** A controller that also aborts when one of `parents` does. */
export function linkedController(...parents: readonly (AbortSignal | undefined)[]): LinkedController {
  const controller = new AbortController();
  const releases = parents.map((parent) => {
    const onAbort = (): void => {
      controller.abort(reasonOf(parent));
    };
    if (parent?.aborted === true) onAbort();
    else parent?.addEventListener('abort', onAbort, { once: true });
    return () => parent?.removeEventListener('abort', onAbort);
  });
  return {
    signal: controller.signal,
    abort: (reason) => {
      controller.abort(reason);
    },
    release: () => {
      for (const release of releases) release();
    },
  };
}
