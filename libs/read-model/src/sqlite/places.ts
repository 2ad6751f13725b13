import type { StatementSync } from 'node:sqlite';
import type { LogEvent } from '@countersign/contracts';
import type { PlaceReads } from '../log-source.js';

/** A position of the log that an event has, and the latest time at which anything up to it was recorded. */
interface Place {
  readonly position: number;
  readonly latest: string;
}

/** What is stored of the places besides their rows. */
export interface PlaceCounts {
  /** The events that were folded. */
  readonly events: number;
  readonly latest: string;
}

/** Every sixteenth event is a place: a read from there passes over fifteen events at most. */
const eventsPerPlace = 16;

/** The places of the log: of the file, and those that are not in it yet. */
export interface PlaceRows extends PlaceReads {
  readonly fold: (event: LogEvent) => void;
  readonly counts: () => PlaceCounts;
  /** Writes what is new, within a transaction; `flushed` follows once that is committed. */
  readonly write: () => void;
  readonly flushed: () => void;
}

/**
 * @param position the last folded event.
 * @param stored the counts of the file at that position.
 */
export function createPlaceRows(
  prepare: (sql: string) => StatementSync,
  position: number,
  stored: PlaceCounts,
): PlaceRows {
  let last: Place = { position, latest: stored.latest };
  let { events } = stored;
  let unflushed: Place[] = [];

  /** The last place that meets a condition: of the end of the log, of the new ones, or of the file. */
  const lastOf = (isMet: (place: Place) => boolean, orInFile: () => Place | undefined): number =>
    (isMet(last) ? last : (unflushed.findLast(isMet) ?? orInFile()))?.position ?? 0;
  const inFile = (sql: string, bound: string | number): Place | undefined => {
    const found = prepare(sql).get(bound);
    return found && { position: Number(found['seq']), latest: String(found['latest']) };
  };
  return {
    fold: (event) => {
      events += 1;
      // The clocks of two appenders may differ, so a later event may have an earlier time.
      last = {
        position: event.position,
        latest: event.recordedAt > last.latest ? event.recordedAt : last.latest,
      };
      if (events % eventsPerPlace === 0) unflushed.push(last);
    },
    counts: () => ({ events, latest: last.latest }),
    write: () => {
      for (const { position: seq, latest } of unflushed) prepare('INSERT INTO places VALUES (?, ?)').run(seq, latest);
    },
    flushed: () => {
      unflushed = [];
    },
    before: (time) =>
      lastOf(
        ({ latest }) => latest < time,
        () => inFile('SELECT * FROM places WHERE latest < ? ORDER BY latest DESC, seq DESC LIMIT 1', time),
      ),
    upTo: (wanted) =>
      lastOf(
        (place) => place.position <= wanted,
        () => inFile('SELECT * FROM places WHERE seq <= ? ORDER BY seq DESC LIMIT 1', wanted),
      ),
  };
}
