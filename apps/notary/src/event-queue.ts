import { isReadable, weigh } from '@countersign/contracts';
import type { LogEvent } from '@countersign/contracts';

/** Events that wait to be taken. */
export interface EventQueue {
  readonly push: (events: readonly LogEvent[]) => void;
  /** The next events, as many as can be hashed in one turn; none when it is empty. */
  readonly take: () => readonly LogEvent[];
  readonly isEmpty: () => boolean;
  /** More events should be left in the log until some of these are taken. */
  readonly isFull: () => boolean;
}

/** The most events of one turn. */
export const takenMax = 200;
/** Attack: thousands of events with large arguments. A turn ends and the queue is full by their bytes, too. */
const takenBytesMax = 1024 * 1024;
const waitingMax = 2000;
const waitingBytesMax = 8 * 1024 * 1024;

/** A queue that is bounded by the number of events and by their weight. */
export function createEventQueue(): EventQueue {
  const waiting: { readonly event: LogEvent; readonly bytes: number }[] = [];
  let sum = 0;
  return {
    push: (events) => {
      for (const event of events) {
        const bytes = bytesOf(event);
        waiting.push({ event, bytes });
        sum += bytes;
      }
    },
    take: () => {
      let [count, bytes] = [0, 0];
      for (const one of waiting) {
        if (count === takenMax || bytes > takenBytesMax) break;
        count += 1;
        bytes += one.bytes;
      }
      sum -= bytes;
      return waiting.splice(0, count).map(({ event }) => event);
    },
    isEmpty: () => waiting.length === 0,
    isFull: () => waiting.length >= waitingMax || sum >= waitingBytesMax,
  };
}

function bytesOf(event: LogEvent): number {
  return (isReadable(event) ? weigh(event) : 0) + (event.metadata.sealed?.box.length ?? 0);
}
