/** Runs the work of one key in order, and of different keys in parallel. */
export type KeyedQueue = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** A queue per key; a key without work costs nothing. */
export function createKeyedQueue(): KeyedQueue {
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const before = last.get(key);
    const mine = before === undefined ? work() : before.then(work, work);
    last.set(key, mine);
    const done = (): void => {
      if (last.get(key) === mine) last.delete(key);
    };
    // Not awaited here: each command would pay for one more promise.
    mine.then(done, done);
    return mine;
  };
}
