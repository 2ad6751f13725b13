import { isReadable, QuestionRefusedError } from '@countersign/contracts';
import type { LogEvent } from '@countersign/contracts';
import { checkAppend } from '../append-checks.js';
import type { AppendResult, EventStore } from '../event-store.js';
import { EventStoreDamagedError, EventStoreUnavailableError, EventTooLargeError, noStream } from '../event-store.js';
import type { Asked, MeasuredClock } from '../measured-clock.js';
import type { Connection } from './connection.js';
import type { ClientPosition } from './client.js';
import { toClientEvents } from './encoding.js';
import { whyOf } from './denied.js';
import { meaningOf } from './errors.js';
import { createPace, lookUntil } from './look-up.js';
import type { Reads } from './reads.js';
import { withRetries } from './retries.js';
import type { RetryPorts } from './retries.js';
import { createRepeats } from './repeats.js';
import { createTrustedAnswers } from './trusted-answers.js';
import type { ProposedAppend } from './trusted-answers.js';

/** The dependencies of appending. */
export interface AppendPorts extends RetryPorts {
  readonly connection: Connection;
  readonly reads: Reads;
  readonly appendMs: number;
  readonly prefixes: readonly string[];
  readonly writeOnly: boolean;
  /** Learns from what is recorded. */
  readonly time: Pick<MeasuredClock, 'recorded' | 'now' | 'monotonic'>;
}

/**
 * Appends at exactly one revision, so that the server recognises a duplicate at any time; with "any" revision it
 * forgets duplicates when it restarts. The result is read back if the caller needs it: only the server knows the
 * recorded time, and whether a duplicate found other data under the same ids. New events need no look
 * back (ADR 120), see `trusted-answers.ts`.
 */
export function createAppends(ports: AppendPorts): EventStore['append'] {
  const { connection, reads, appendMs, prefixes, clock, writeOnly } = ports;
  const learnTime = createTimeLessons(ports.time);
  const trusted = createTrustedAnswers(ports.time);
  const repeats = createRepeats<AppendResult>(({ status }) => status !== 'unknown');
  const pace = createPace();

  /** Returns the recorded events if they are these. The ids distinguish duplicates from conflicts. */
  const readBack = async ({ stream, expectedRevision, events }: ProposedAppend): Promise<Recorded | undefined> => {
    const found = await reads.readStream(stream, expectedRevision + 1, events.length);
    const areOurs = found.length === events.length && found.every((one, at) => one.eventId === events[at]?.eventId);
    return areOurs ? found : undefined;
  };
  /** Whether an admin deleted the stream softly: the server reports a repeat as written, although no reader finds it. */
  const isLost = async (stream: string): Promise<boolean> =>
    (await reads.readStream(stream, 0)).length === 0 && (await reads.lossOf(stream)) !== undefined;
  /** The server's response or, when it is late, what the stream shows. */
  const send = async (proposal: ProposedAppend): Promise<Sent> => {
    const { stream, expectedRevision, proposed } = proposal;
    const expected = expectedRevision === noStream ? 'no_stream' : BigInt(expectedRevision);
    const startedAt = clock.monotonic();
    const over = new AbortController();
    const answer = async (): Promise<Sent> => {
      const { revision, position } = await withRetries(
        ports,
        (verdict) => verdict.kind === 'not-written' && verdict.transient,
        () => connection.call(appendMs, (client) => client.append(stream, expected, proposed, appendMs)),
      );
      pace.took(clock.monotonic() - startedAt);
      return { status: 'answered', revision: Number(revision), position };
    };
    const answered = answer();
    // The server drops no append of ids that it has not seen: it is late because the store is.
    if (proposal.areNew) return answered.catch((error: unknown) => outcomeOf(error, stream));
    const found = lookUntil(clock, pace.lateAfterMs(), over.signal, () => readBack(proposal));
    try {
      return await Promise.race([
        answered,
        found.then((recorded): Sent | Promise<Sent> =>
          recorded === undefined ? answered : { status: 'found', recorded },
        ),
      ]);
    } catch (error) {
      return outcomeOf(error, stream);
    } finally {
      over.abort();
    }
  };
  /** The recorded events of an append that was answered with a revision or with a conflict. */
  const found = async (proposal: ProposedAppend, sent: Answered | Conflict): Promise<Recorded | AppendResult> => {
    try {
      const recorded = await readBack(proposal);
      if (recorded !== undefined) return recorded;
      if (sent.status === 'conflict') return sent;
      if (await isLost(proposal.stream)) return { status: 'conflict', actualRevision: sent.revision };
      return {
        status: 'unknown',
        cause: new Error(`${proposal.stream} does not have the events that were just written`),
      };
    } catch (error) {
      // This says nothing about the append. A retry is safe, and succeeds once the stream can be read.
      if (error instanceof EventStoreUnavailableError) return { status: 'unknown', cause: error };
      throw error;
    }
  };
  /** The result of an append to a stream that was deleted softly: it continues its count, so "no stream" is not revision 0. */
  const elsewhere = async (stream: string, actualRevision: number): Promise<AppendResult> => {
    // Readers see that its beginning is missing.
    if (!(await reads.readStream(stream, 0)).every(isReadable)) return { status: 'conflict', actualRevision };
    const message = `${stream} was deleted or truncated: an append was recorded as revision ${String(actualRevision)}`;
    throw new EventStoreDamagedError(message, { stream });
  };
  const append = async (proposal: ProposedAppend, wasTried: boolean): Promise<AppendResult> => {
    const sentAt = clock.monotonic();
    const sent = await send(proposal);
    if (sent.status === 'unknown') return sent;
    if (sent.status === 'found') return committed(sent.recorded, !writeOnly);
    if (sent.status === 'answered') {
      const { stream, expectedRevision, events } = proposal;
      if (sent.revision !== expectedRevision + events.length) return elsewhere(stream, sent.revision);
      if (writeOnly) return { status: 'committed', revision: sent.revision, position: 0, events: [] };
      const known = trusted.eventsOf(proposal, sent.position);
      if (known !== undefined) return committed(known, true);
    }
    const recorded = await found(proposal, sent);
    if ('status' in recorded) return recorded;
    if (sent.status === 'answered' && !wasTried) {
      learnTime(recorded, { sentAt, answeredAt: clock.monotonic() });
      trusted.compare(sent.position, recorded);
    }
    return committed(recorded, true);
  };
  return async (stream, expectedRevision, events, { areNew = false } = {}) => {
    checkAppend(stream, expectedRevision, events);
    checkPrefix(stream, prefixes);
    const proposed = toClientEvents(events);
    return repeats.run(stream, expectedRevision, events, (wasTried) =>
      append({ stream, expectedRevision, events, proposed, areNew: areNew && !wasTried }, wasTried),
    );
  };
}

type Recorded = readonly LogEvent[];

type Conflict = Extract<AppendResult, { readonly status: 'conflict' }>;
type Unknown = Extract<AppendResult, { readonly status: 'unknown' }>;
/** The server's own answer. */
interface Answered {
  readonly status: 'answered';
  readonly revision: number;
  readonly position: ClientPosition | undefined;
}
/** The result of an append in flight. */
type Sent = Answered | Conflict | Unknown | { readonly status: 'found'; readonly recorded: Recorded };

/**
 * Only a new event tells the time: those of an earlier try or of another process were recorded before. Their position is
 * not after the known ones.
 */
function createTimeLessons({ recorded }: Pick<MeasuredClock, 'recorded'>): (events: Recorded, asked: Asked) => void {
  let newest = 0;
  return ([event], asked) => {
    if (event === undefined || event.position <= newest) return;
    newest = event.position;
    // Its time is that of another store.
    if (!isReadable(event) || event.metadata.moved !== undefined) return;
    recorded(Date.parse(event.recordedAt), asked);
  };
}

function committed(events: Recorded, isShown: boolean): AppendResult {
  const { revision = noStream, position = 0 } = events.at(-1) ?? {};
  // Those of a retry were recorded before, perhaps by a later version.
  return isShown && events.every(isReadable)
    ? { status: 'committed', revision, position, events }
    : { status: 'committed', revision, position: isShown ? position : 0, events: [] };
}

/** Classifies a failed append. @throws when certainly nothing was written. */
function outcomeOf(error: unknown, stream: string): Conflict | Unknown {
  if (error instanceof EventStoreUnavailableError || error instanceof EventStoreDamagedError) throw error;
  const verdict = meaningOf(error);
  switch (verdict.kind) {
    case 'conflict':
      return { status: 'conflict', actualRevision: verdict.actualRevision };
    case 'not-written':
      throw new EventStoreUnavailableError(`the event store took nothing: ${whyOf(error, `append to ${stream}`)}`, {
        cause: error,
      });
    case 'too-large':
      throw new EventTooLargeError(`these events are larger than the event store takes: ${String(error)}`, {
        cause: error,
      });
    case 'refused-question':
      throw new QuestionRefusedError(`the event store refused the append to ${stream}: ${whyOf(error)}`, {
        cause: error,
      });
    case 'stream-deleted':
      // A read of it says that it was deleted.
      return { status: 'conflict', actualRevision: noStream };
    case 'stream-not-found':
    case 'unknown':
      return { status: 'unknown', cause: error };
  }
}

function checkPrefix(stream: string, prefixes: readonly string[]): void {
  if (prefixes.some((prefix) => stream.startsWith(prefix))) return;
  throw new RangeError(`no subscription would see "${stream}": a stream's name begins with ${prefixes.join(', ')}`);
}
