import type { Clock } from '@countersign/runtime';

/** How far the clock of a machine may differ from the store's. */
export const skewMsMax = 2000;

/**
 * The store's time, as far as this process knows it. Stored times come from it, and it decides what is due. The clock of
 * the machine only says whether the process is ready.
 */
export interface StoreClock extends Clock {
  /** The best known time of the store, ms since the epoch; the machine's own time while nothing is known. */
  readonly now: () => number;
  /** How far the machine's clock is ahead of the store's, in ms; negative when it is behind. */
  readonly aheadMs: () => number;
  /** Why the store's time is not known at the moment; undefined when it is. */
  readonly doubt: () => string | undefined;
  /** Why this process is not ready and fires no deadline; undefined when its clock is right. */
  readonly problem: () => string | undefined;
}

/** The clock of a store that runs in this process: the two clocks are one. */
export function createOwnStoreClock(clock: Clock): StoreClock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    setTimer: (delayMs, fn) => clock.setTimer(delayMs, fn),
    aheadMs: () => 0,
    doubt: () => undefined,
    problem: () => undefined,
  };
}
