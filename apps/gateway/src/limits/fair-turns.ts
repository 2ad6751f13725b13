/** Work that is done a few pieces at a time, fairly between the holders that want it. */
export interface FairTurns {
  /** Runs the work when it is this holder's turn, and settles as it does. */
  readonly run: <T>(holder: string, work: () => Promise<T>) => Promise<T>;
}

/** A fair semaphore for `atOnce` jobs. A holder with hundreds of waiting jobs delays another holder by one job. */
export function createFairTurns(atOnce: number): FairTurns {
  // In the order of their turns.
  const queues = new Map<string, (() => void)[]>();
  let running = 0;
  const beginNext = (): void => {
    const [first] = queues;
    if (first === undefined || running >= atOnce) return;
    const [holder, waiting] = first;
    queues.delete(holder);
    const begin = waiting.shift();
    if (waiting.length > 0) queues.set(holder, waiting);
    running += 1;
    begin?.();
  };
  return {
    run: async (holder, work) => {
      await new Promise<void>((resolve) => {
        const waiting = queues.get(holder) ?? [];
        waiting.push(resolve);
        queues.set(holder, waiting);
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
