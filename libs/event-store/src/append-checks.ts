import type { NewEvent } from '@countersign/contracts';
import { noStream } from './event-store.js';

/** Checks what the types of `append` cannot say. @throws RangeError: a mistake in the caller. */
export function checkAppend(stream: string, expectedRevision: number, events: readonly NewEvent[]): void {
  if (stream === '' || stream.includes('\0') || !stream.isWellFormed())
    throw new RangeError('a stream needs a printable name');
  if (!Number.isSafeInteger(expectedRevision) || expectedRevision < noStream) {
    throw new RangeError(`an expected revision is a whole number from ${noStream} on, not ${expectedRevision}`);
  }
  // Attack or bug: a server's answer to such an event ends the process inside one of the vendor's clients.
  if (events.some(({ type }) => (type as string) === '')) throw new RangeError('an event has a type');
  if (events.length === 0) throw new RangeError('an append has at least one event');
}
