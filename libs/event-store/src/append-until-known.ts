import { backoffMs } from '@countersign/contracts';
import type { NewEvent } from '@countersign/contracts';
import type { Clock, Ids } from '@countersign/runtime';
import { sleep } from '@countersign/runtime';
import { EventStoreUnavailableError } from './event-store.js';
import type { AppendResult, EventStore } from './event-store.js';

/**
 * The append may or may not have been written, and the store did not tell within the wait. Retrying the same request
 * with the same command id is safe: it is never recorded twice.
 */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
}

/** Returns whether a failure was only the store's unavailability: a retry is safe and may succeed. */
export function isStoreOutage(error: unknown): error is EventStoreUnavailableError | OutcomeUnknownError {
  return error instanceof EventStoreUnavailableError || error instanceof OutcomeUnknownError;
}

const triesMax = 6;
const backoff = { firstMs: 10, maxMs: 500 };

/** Returns the wait before retry `n` of a request to the store, from 1 on. */
export function storeBackoffMs(ids: Pick<Ids, 'randomBytes'>, repeat: number): number {
  return backoffMs(repeat, backoff, () => (ids.randomBytes(1)[0] ?? 0) / 256);
}

interface AppendPorts {
  readonly store: Pick<EventStore, 'append'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/**
 * Appends, and repeats with the same ids and the same expected revision while the outcome is unknown: the store
 * recognises what it has written.
 * @throws OutcomeUnknownError when it stays unknown.
 * @throws EventStoreUnavailableError when certainly nothing was written.
 */
export async function appendUntilKnown(
  ports: AppendPorts,
  stream: string,
  expectedRevision: number,
  events: readonly NewEvent[],
): Promise<Exclude<AppendResult, { status: 'unknown' }>> {
  const first = await ports.store.append(stream, expectedRevision, events);
  return first.status === 'unknown' ? repeatUntilKnown(ports, stream, expectedRevision, events, first.cause) : first;
}

/**
 * Retries an append whose outcome is unknown. The first try is the caller's.
 * @param cause why the outcome of the first try is unknown.
 * @throws OutcomeUnknownError when it stays unknown.
 */
export async function repeatUntilKnown(
  ports: AppendPorts,
  stream: string,
  expectedRevision: number,
  events: readonly NewEvent[],
  cause: unknown,
): Promise<Exclude<AppendResult, { status: 'unknown' }>> {
  const { store, clock, ids } = ports;
  let latest = cause;
  for (let attempt = 1; attempt < triesMax; attempt += 1) {
    await sleep(clock, storeBackoffMs(ids, attempt));
    try {
      const result = await store.append(stream, expectedRevision, events);
      if (result.status !== 'unknown') return result;
      latest = result.cause;
    } catch (error) {
      // This try wrote nothing, which says nothing about the first one.
      latest = error;
    }
  }
  throw new OutcomeUnknownError('it is not known whether the command was recorded; repeating the request is safe', {
    cause: latest,
  });
}
