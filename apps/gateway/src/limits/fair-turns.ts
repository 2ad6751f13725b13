import { createFairQueue } from '@countersign/runtime';

/** Work that is done a few pieces at a time, fairly between the holders that want it. */
export interface FairTurns {
  /** Runs the work when it is this holder's turn, and settles as it does. */
  readonly run: <T>(holder: string, work: () => Promise<T>) => Promise<T>;
}

/** A fair semaphore for `atOnce` jobs. A holder with hundreds of waiting jobs delays another holder by one job. */
export function createFairTurns(atOnce: number): FairTurns {
  const queue = createFairQueue<() => void>();
  let running = 0;
  const beginNext = (): void => {
    if (running >= atOnce) return;
    const begin = queue.shift();
    if (begin === undefined) return;
    running += 1;
    begin();
  };
  return {
    run: async (holder, work) => {
      await new Promise<void>((resolve) => {
        queue.push(holder, resolve);
        beginNext();
      });
      try {
        return await work();
      } finally {
        running -= 1;
        beginNext();
      }
    },
  };
}
