import { toLogEvent } from '@countersign/contracts';
import type { LogEvent, NewEvent } from '@countersign/contracts';
import type { MeasuredClock } from '../measured-clock.js';
import type { ClientNewEvent, ClientPosition } from './client.js';
import { toNumber, toStored } from './encoding.js';

/** One append in flight. */
export interface ProposedAppend {
  readonly stream: string;
  readonly expectedRevision: number;
  readonly events: readonly NewEvent[];
  readonly proposed: readonly ClientNewEvent[];
  /** Nothing was ever recorded under their ids. */
  readonly areNew: boolean;
}

/** The answers to appends that need not be read back. */
export interface TrustedAnswers {
  /** The events that an answer says are recorded; undefined when they must be read back. */
  readonly eventsOf: (
    proposal: ProposedAppend,
    position: ClientPosition | undefined,
  ) => readonly LogEvent[] | undefined;
  /** Compares the position of an answer with what was read back. */
  readonly compare: (position: ClientPosition | undefined, recorded: readonly LogEvent[]) => void;
}

/** How often one is read back nevertheless. */
const lookAgainMs = 1000;

/**
 * Nobody else has the ids of new events, so the server's answer to their first append says what is recorded. What is missing is the
 * time: it is that of the answer, so a limit that begins with such an event ends in this process a little late. Now and then one is read back nevertheless: its time corrects the clock,
 * and its position must be that of the answer. A server where it once was not is never trusted again.
 */
export function createTrustedAnswers(time: Pick<MeasuredClock, 'now' | 'monotonic'>): TrustedAnswers {
  /** Undefined: nothing was compared yet. */
  let tellsPositions: boolean | undefined;
  let lookedAt = -Infinity;
  return {
    eventsOf: (proposal, position) => {
      if (!proposal.areNew || position === undefined || tellsPositions !== true) return undefined;
      const at = time.monotonic();
      if (at - lookedAt < lookAgainMs) return asFound(proposal, position, new Date(time.now()));
      lookedAt = at;
      return undefined;
    },
    compare: (position, recorded) => {
      const isTold = position !== undefined && toNumber(position.commit) === recorded.at(-1)?.position;
      tellsPositions = tellsPositions !== false && isTold;
    },
  };
}

/** What a reader finds of an append whose last event has this position. */
function asFound(
  { stream, expectedRevision, events, proposed }: ProposedAppend,
  position: ClientPosition,
  created: Date,
): readonly LogEvent[] {
  return proposed.map(({ id, type, data }, at) => {
    const revision = BigInt(expectedRevision + 1 + at);
    const metadata = events[at]?.metadata;
    return toLogEvent(toStored({ id, type, data, metadata, streamId: stream, revision, created, position }));
  });
}
