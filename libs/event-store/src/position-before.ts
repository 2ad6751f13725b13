import type { EventStore } from './event-store.js';

/**
 * Returns a position with nothing recorded at or after `since` (a stored time) before it: found in about thirty reads
 * for a log of any length. `head`: the end of the log.
 */
export async function positionBefore(store: Pick<EventStore, 'readAll'>, since: string, head: number): Promise<number> {
  let [low, high] = [0, head];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const [event] = await store.readAll(middle, 1);
    if (event !== undefined && event.recordedAt < since) low = middle;
    else high = middle;
  }
  return low;
}
