import type { Clock } from '@countersign/runtime';
import { sleep } from '@countersign/runtime';

const waitMsMin = 100;
const waitMsMax = 1000;
/** An append that takes this many times longer than recent appends may be a duplicate that the server dropped. */
const patience = 8;
/** The weight of one append in the moving average. */
const weight = 0.1;

/** The moving average of append durations, to detect a late append. */
export interface Pace {
  readonly took: (ms: number) => void;
  readonly lateAfterMs: () => number;
}

/** The initial value: an append on an idle server. */
export function createPace(): Pace {
  let usualMs = 15;
  return {
    took: (ms) => {
      usualMs += weight * (ms - usualMs);
    },
    lateAfterMs: () => Math.min(waitMsMax, Math.max(waitMsMin, patience * usualMs)),
  };
}

/**
 * Looks for something repeatedly, first after `firstAfterMs`, then with doubled pauses. Resolves with the result, or
 * with undefined once `over` aborts. A failed look is ignored.
 */
export async function lookUntil<T>(
  clock: Clock,
  firstAfterMs: number,
  over: AbortSignal,
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  for (let waitMs = firstAfterMs; ; waitMs *= 2) {
    await sleep(clock, waitMs, over);
    if (over.aborted) return undefined;
    const found = await look().catch(() => undefined);
    if (found !== undefined) return found;
  }
}
