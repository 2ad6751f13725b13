import { setImmediate } from 'node:timers/promises';
import type { SourceEvent } from './log-source.js';

/** A signal is noticed after so many events at the latest. */
const eventsPerTurn = 500;

/**
 * Calls `take` with each event until it returns false. It awaits nothing for an event of a source that is read in order from a
 * file, and still notices a signal meanwhile. Returns false when the person interrupts it.
 */
export async function eachEvent(
  events: AsyncIterable<SourceEvent> | Iterable<SourceEvent>,
  interrupted: AbortSignal,
  take: (event: SourceEvent) => boolean,
): Promise<boolean> {
  if (Symbol.asyncIterator in events) {
    for await (const event of events) {
      if (interrupted.aborted) return false;
      if (!take(event)) return true;
    }
    return true;
  }
  let count = 0;
  for (const event of events) {
    count += 1;
    // Signals are handled between turns of the event loop, not between two promises.
    if (count % eventsPerTurn === 0) await setImmediate();
    if (interrupted.aborted) return false;
    if (!take(event)) return true;
  }
  return true;
}
