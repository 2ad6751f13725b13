/** What waits, by holder. Holders take turns: one with thousands of items delays another one by one item. */
export interface FairQueue<T> {
  readonly push: (holder: string, item: T) => void;
  /** The item whose turn it is. It stays in the queue. */
  readonly next: () => T | undefined;
  /** Takes the item whose turn it is. Its holder goes to the end. */
  readonly shift: () => T | undefined;
  /** Takes all items of one holder, the oldest first. */
  readonly takeAll: (holder: string) => readonly T[];
}

/** An empty queue. Items of one holder keep their order. */
export function createFairQueue<T>(): FairQueue<T> {
  // In the order of their turns. None is empty.
  const queues = new Map<string, T[]>();
  return {
    push: (holder, item) => {
      const waiting = queues.get(holder);
      if (waiting === undefined) queues.set(holder, [item]);
      else waiting.push(item);
    },
    next: () => {
      for (const [item] of queues.values()) return item;
      return undefined;
    },
    shift: () => {
      const [first] = queues;
      if (first === undefined) return undefined;
      const [holder, waiting] = first;
      const item = waiting.shift();
      queues.delete(holder);
      if (waiting.length > 0) queues.set(holder, waiting);
      return item;
    },
    takeAll: (holder) => {
      const waiting = queues.get(holder) ?? [];
      queues.delete(holder);
      return waiting;
    },
  };
}
