/** Time as an input: what waits are measured with. Nothing in it reads the time of day. */
export interface Clock {
  /** Ms since some fixed moment; never goes back. */
  readonly monotonic: () => number;
  /** Calls `fn` once after at least `delayMs`. The answer cancels it, and does nothing afterwards. */
  readonly setTimer: (delayMs: number, fn: () => void) => () => void;
}

/** The real clock. A pending timer keeps the process alive: whoever sets one cancels it. */
export const systemClock: Clock = {
  monotonic: () => performance.now(),
  setTimer: (delayMs, fn) => {
    const timer = setTimeout(fn, delayMs);
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
  /** MUST be called when done: a signal that outlives this one would hold on to it otherwise. */
  readonly release: () => void;
}

/** A controller of its own that also aborts when one of `parents` does. */
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
