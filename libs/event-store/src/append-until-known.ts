import type { NewEvent } from '@countersign/contracts';
import type { Clock, Ids } from '@countersign/runtime';
import { sleep } from '@countersign/runtime';
import type { AppendResult, EventStore } from './event-store.js';

/**
 * The append may or may not have been written, and the store could not say which for as long as was reasonable to wait.
 * Repeating the same request, with the same command id, is safe: it cannot be recorded twice.
 */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
}

const triesMax = 6;
const firstBackoffMs = 5;
const backoffMsMax = 500;

/** How long to wait before try `n` (1 is the first repeat): exponential, with full jitter. */
export function backoffMs(ids: Ids, attempt: number): number {
  const [byte = 0] = ids.randomBytes(1);
  return (byte / 256) * Math.min(backoffMsMax, firstBackoffMs * 2 ** attempt);
}

/**
 * Repeats an append whose outcome is unknown, with the same ids and the same expected revision, until it is known: the
 * store recognises what it has written.
 * @param cause why the outcome of the first try is unknown.
 * @throws OutcomeUnknownError when it stays unknown.
 */
export async function appendUntilKnown(
  ports: { readonly store: Pick<EventStore, 'append'>; readonly clock: Clock; readonly ids: Ids },
  stream: string,
  expectedRevision: number,
  events: readonly NewEvent[],
  cause: unknown,
): Promise<Exclude<AppendResult, { status: 'unknown' }>> {
  const { store, clock, ids } = ports;
  let latest = cause;
  for (let attempt = 1; attempt < triesMax; attempt += 1) {
    await sleep(clock, backoffMs(ids, attempt));
    try {
      const result = await store.append(stream, expectedRevision, events);
      if (result.status !== 'unknown') return result;
      latest = result.cause;
    } catch (error) {
      // Nothing was written by this try: that says nothing about the first one.
      latest = error;
    }
  }
  throw new OutcomeUnknownError('it is not known whether the command was recorded; repeating the request is safe', {
    cause: latest,
  });
}
