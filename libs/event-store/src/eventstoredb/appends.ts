import type { Log } from '@countersign/runtime';
import type { NewEvent, RecordedEvent } from '@countersign/contracts';
import { checkAppend } from '../append-checks.js';
import type { AppendResult, EventStore } from '../event-store.js';
import { EventStoreDamagedError, EventStoreUnavailableError, noStream } from '../event-store.js';
import type { Connection } from './connection.js';
import { toClientEvent } from './encoding.js';
import { verdictOf } from './errors.js';
import type { Reads } from './reads.js';
import { withRetries } from './retries.js';
import type { RetryPorts } from './retries.js';

/** What appending needs. */
export interface AppendPorts extends RetryPorts {
  readonly connection: Connection;
  readonly reads: Reads;
  readonly log: Log;
  readonly appendMs: number;
  readonly prefixes: readonly string[];
  readonly readsBack: boolean;
}

/** How far the server's clock may be from ours before it is worth a line in the log. */
const skewMsMax = 2000;
const skewedInARow = 3;

/**
 * Appends at exactly one revision, so that the server's strong check recognises a repeat however much later it comes;
 * with "any" revision it forgets when it restarts. The answer is read back, for who needs it: only the server knows when
 * it recorded, and whether a repeat found other data under the same ids.
 */
export function createAppends(ports: AppendPorts): EventStore['append'] {
  const { connection, reads, appendMs, prefixes, clock, readsBack } = ports;
  const watchSkew = createSkewWatch(ports.log);

  /** The recorded events, where they are these; repeats and conflicts are told apart by the ids. */
  const readBack = async (
    stream: string,
    expectedRevision: number,
    events: readonly NewEvent[],
  ): Promise<readonly RecordedEvent[] | undefined> => {
    const found = await reads.readStream(stream, expectedRevision + 1, events.length);
    const areOurs = found.length === events.length && found.every((one, at) => one.eventId === events[at]?.eventId);
    return areOurs ? found : undefined;
  };
  const append = async (
    stream: string,
    expectedRevision: number,
    events: readonly NewEvent[],
  ): Promise<AppendResult> => {
    checkAppend(stream, expectedRevision, events);
    checkPrefix(stream, prefixes);
    const proposed = events.map(toClientEvent);
    const expected = expectedRevision === noStream ? 'no_stream' : BigInt(expectedRevision);
    const sentAt = clock.now();
    let isConflict: { readonly actualRevision: number } | undefined;
    try {
      const revision = await withRetries(
        ports,
        (verdict) => verdict.kind === 'not-written' && verdict.transient,
        () => connection.call(appendMs, (client) => client.append(stream, expected, proposed, appendMs)),
      );
      checkRevision(stream, Number(revision), expectedRevision + events.length);
      if (!readsBack) return { status: 'committed', revision: Number(revision), position: 0, events: [] };
    } catch (error) {
      const outcome = outcomeOf(error, stream);
      if (outcome.status === 'unknown') return outcome;
      isConflict = outcome;
    }
    try {
      const recorded = await readBack(stream, expectedRevision, events);
      if (recorded !== undefined) {
        if (isConflict === undefined) watchSkew(recorded, sentAt, clock.now());
        return committed(recorded);
      }
      if (isConflict !== undefined) return { status: 'conflict', actualRevision: isConflict.actualRevision };
      return { status: 'unknown', cause: new Error(`${stream} does not have the events that were just written`) };
    } catch (error) {
      // It says nothing about the append. Repeating that is safe, and answers as soon as the stream can be read.
      if (error instanceof EventStoreUnavailableError) return { status: 'unknown', cause: error };
      throw error;
    }
  };
  return append;
}

function committed(events: readonly RecordedEvent[]): AppendResult {
  const last = events.at(-1);
  return { status: 'committed', revision: last?.revision ?? noStream, position: last?.position ?? 0, events };
}

/** What a failed append is to the caller. @throws when certainly nothing was written. */
function outcomeOf(error: unknown, stream: string): Extract<AppendResult, { readonly status: 'unknown' | 'conflict' }> {
  if (error instanceof EventStoreUnavailableError || error instanceof EventStoreDamagedError) throw error;
  const verdict = verdictOf(error);
  switch (verdict.kind) {
    case 'conflict':
      return { status: 'conflict', actualRevision: verdict.actualRevision };
    case 'not-written':
      throw new EventStoreUnavailableError(`the event store took nothing: ${String(error)}`, { cause: error });
    case 'too-large':
      throw new RangeError(`these events are larger than the event store takes: ${String(error)}`, { cause: error });
    case 'stream-deleted':
      throw new EventStoreDamagedError(`${stream} was deleted`, { stream, cause: error });
    case 'stream-not-found':
    case 'unknown':
      return { status: 'unknown', cause: error };
  }
}

function checkPrefix(stream: string, prefixes: readonly string[]): void {
  if (prefixes.some((prefix) => stream.startsWith(prefix))) return;
  throw new RangeError(`no subscription would see "${stream}": a stream's name begins with ${prefixes.join(', ')}`);
}

/** A stream that was deleted or truncated goes on counting where it was: then "no stream" is not revision 0. */
function checkRevision(stream: string, actual: number, expected: number): void {
  if (actual === expected) return;
  const message = `${stream} was deleted or truncated: an append up to revision ${expected} was recorded as ${actual}`;
  throw new EventStoreDamagedError(message, { stream });
}

/** Compares the server's clock with ours at each new event: deadlines are set by the one and recorded by the other. */
function createSkewWatch(log: Log): (events: readonly RecordedEvent[], sentAt: number, answeredAt: number) => void {
  let inARow = 0;
  return ([event], sentAt, answeredAt) => {
    const recordedAt = Date.parse(event?.recordedAt ?? '');
    const skewMs = recordedAt > answeredAt ? recordedAt - answeredAt : Math.min(0, recordedAt - sentAt);
    // The answer to a repeat tells when the first one was recorded: that looks like a slow clock, but not every time.
    inARow = Math.abs(skewMs) > skewMsMax ? inARow + 1 : 0;
    if (inARow === skewedInARow) log.warn({ skewMs }, "the event store's clock and this machine's differ");
  };
}
