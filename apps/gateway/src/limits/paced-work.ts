import { createFairQueue } from '@countersign/runtime';
import { turnsOfOthers, workMsMax } from './breather.js';

/** Pieces of work that never run all at once: after 2 ms of them in one turn of the event loop others run first. */
export interface PacedWork {
  /** Runs the piece now, or when it is this holder's turn: a promise then. What it throws is thrown. */
  readonly run: <T>(holder: string, piece: () => T | Promise<T>) => T | Promise<T>;
}

/**
 * Attack: hundreds of requests arrive together, each of which costs ten milliseconds, so that others wait for all of them. A
 * piece that waits for something is counted up to there.
 */
export function createPacedWork(monotonic: () => number): PacedWork {
  const queue = createFairQueue<() => void>();
  let [workedMs, isCounting, isResting] = [0, false, false];
  const timed = <T>(piece: () => T): T => {
    const since = monotonic();
    try {
      return piece();
    } finally {
      workedMs += monotonic() - since;
      if (workedMs >= workMsMax) rest();
      else countThisTurn();
    }
  };
  const countThisTurn = (): void => {
    if (isCounting) return;
    isCounting = true;
    setImmediate(() => {
      isCounting = false;
      if (!isResting) workedMs = 0;
    });
  };
  const rest = (): void => {
    if (isResting) return;
    isResting = true;
    const after = (turns: number): void => void setImmediate(turns === 1 ? goOn : () => after(turns - 1));
    after(turnsOfOthers);
  };
  /** Returns false when none waits, or others come first. */
  const runNext = (): boolean => {
    const next = isResting ? undefined : queue.shift();
    next?.();
    return next !== undefined;
  };
  const goOn = (): void => {
    [workedMs, isResting] = [0, false];
    while (runNext());
  };
  return {
    run: <T>(holder: string, piece: () => T | Promise<T>) => {
      if (!isResting) return timed(piece);
      const whole = async (): Promise<T> => timed(piece);
      return new Promise<T>((resolve) => {
        // What it throws rejects the promise.
        queue.push(holder, () => {
          resolve(whole());
        });
      });
    },
  };
}
