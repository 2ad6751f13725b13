import type { Clock } from '@countersign/contracts/clock';

/** The time that a tool may run. */
export interface TimeLimit {
  /** Aborts with a `TimeLimitError` when the time is over. */
  readonly signal: AbortSignal;
  /** Stops the time while the tool waits for a person. Returns the function that starts it again. */
  readonly pause: () => () => void;
  /** The tool has ended: the time is never over. */
  readonly release: () => void;
}

/** A tool has run for longer than it may. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';

  constructor(limitMs: number) {
    super(`the tool ran longer than its limit of ${String(limitMs)} ms`);
  }
}

/** A tool has thrown after its signal aborted. Most do, and the effect may have happened nevertheless. */
export class ToolAbortedError extends Error {
  override readonly name = 'ToolAbortedError';
}

/** Starts the time at once. */
export function createTimeLimit(clock: Clock, limitMs: number): TimeLimit {
  const over = new AbortController();
  let leftMs = limitMs;
  let pauses = 0;
  const run = (): (() => void) => {
    const startedAt = clock.monotonic();
    const cancel = clock.setTimer(leftMs, () => {
      over.abort(new TimeLimitError(limitMs));
    });
    return () => {
      cancel();
      leftMs = Math.max(0, leftMs - (clock.monotonic() - startedAt));
    };
  };
  let stop = run();
  let isReleased = false;
  return {
    signal: over.signal,
    pause: () => {
      pauses += 1;
      if (pauses === 1) stop();
      let isPaused = true;
      return () => {
        if (!isPaused) return;
        isPaused = false;
        pauses -= 1;
        if (pauses === 0 && !isReleased) stop = run();
      };
    },
    release: () => {
      isReleased = true;
      if (pauses === 0) stop();
    },
  };
}
