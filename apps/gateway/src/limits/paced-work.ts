import { createFairQueue } from '@countersign/runtime';
import { turnsOfOthers, workMsMax } from './breather.js';

/** Pieces of work that never run all at once: after 2 ms of them in one turn of the event loop others run first. */
export interface PacedWork {
  /** Runs the piece now, or when it is this holder's turn: a promise then. What it throws is thrown. */
  readonly run: <T>(holder: string, piece: () => T) => T | Promise<Awaited<T>>;
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
  const goOn = (): void => {
    [workedMs, isResting] = [0, false];
    for (let next = queue.shift(); next !== undefined; next = isResting ? undefined : queue.shift()) next();
  };
  return {
    run: (holder, piece) => {
      if (!isResting) return timed(piece);
      return new Promise((resolve, reject) => {
        queue.push(holder, () => {
          try {
            resolve(timed(piece) as never);
          } catch (error) {
            reject(error as Error);
          }
        });
      });
    },
  };
}
