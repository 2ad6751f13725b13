import type { Clock } from '@countersign/runtime';
import { sleep } from '@countersign/runtime';

const waitMsMin = 100;
const waitMsMax = 1000;
/** An append that takes so many times longer than appends take now may be a repeat that the server has dropped. */
const patience = 8;
/** How much one append counts in what appends take now. */
const weight = 0.1;

/** How long appends take now, and so when one is late. */
export interface Pace {
  readonly took: (ms: number) => void;
  readonly lateAfterMs: () => number;
}

/** Begins with what an append takes on a quiet server. */
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
 * Looks for something again and again, the first time after `firstAfterMs` and then at twice the distance each time.
 * Resolves with what was found, or with undefined once `over` aborts; a look that fails is the next one's business.
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
