import type { LogEvent } from '@countersign/contracts';
import { EventStoreDamagedError, EventStoreUnavailableError } from '../event-store.js';
import type { LogFile } from './log-file.js';
import { isSqliteError, messageOf, sqliteCodes } from './sqlite-errors.js';
import { checkLeaf, lostEvent, soundEvent, toStoredLogEvent } from './stored-event.js';
import type { LeafHash } from './stored-event.js';

/** Attack: thousands of events with large arguments. A page of them is read at a time, and held in memory by many readers. */
const pageBytesMax = 2 * 1024 * 1024;

/** Reads events and proves each by its leaf. */
export interface LogReader {
  /** @throws EventStoreDamagedError naming position and stream of the first event that is not what was recorded. */
  readonly readStream: (stream: string, fromRevision: number, limit?: number) => readonly LogEvent[];
  /** @throws EventStoreDamagedError, as `readStream`; also when an event is missing. */
  readonly readAll: (after: number, limit: number) => readonly LogEvent[];
  /** As the others, with each damaged or missing event in its place, as one that cannot be read. */
  readonly sound: {
    readonly readStream: (stream: string, fromRevision: number) => readonly LogEvent[];
    readonly readAll: (after: number, limit: number) => readonly LogEvent[];
  };
}

/** A reader of an opened log. */
export function createLogReader(log: LogFile, leafHash: LeafHash): LogReader {
  return {
    readStream: (stream, fromRevision, limit = Number.MAX_SAFE_INTEGER) =>
      reading(() =>
        log.readStream(stream, fromRevision, lastOf(fromRevision, limit)).map((row, index) => {
          checkLeaf(leafHash, row);
          if (row[2] !== fromRevision + index)
            throw missing(`revision ${fromRevision + index} of stream "${stream}"`, row[0]);
          return toStoredLogEvent(row);
        }),
      ),
    readAll: (after, limit) =>
      reading(() => {
        const events: LogEvent[] = [];
        let [next, bytes] = [after + 1, 0];
        for (const row of log.readAll(after, lastOf(after + 1, limit))) {
          checkLeaf(leafHash, row);
          if (row[0] !== next) throw missing(`the event at position ${next}`, next);
          events.push(toStoredLogEvent(row));
          next += 1;
          bytes += row[7].length;
          if (bytes > pageBytesMax) return events;
        }
        if (events.length < limit && next <= log.lastPosition()) throw missing(`the event at position ${next}`, next);
        return events;
      }),
    sound: {
      readStream: (stream, fromRevision) =>
        reading(() => {
          const events: LogEvent[] = [];
          let next = fromRevision;
          for (const row of log.readStream(stream, fromRevision, Number.MAX_SAFE_INTEGER)) {
            const [position, , revision] = row;
            // Of revisions that are missing, the first is named, at the position of the one after them.
            if (revision !== next) events.push(lostEvent({ stream, revision: next, position }));
            events.push(soundEvent(leafHash, row));
            next = revision + 1;
          }
          return events;
        }),
      readAll: (after, limit) =>
        reading(() => {
          const events: LogEvent[] = [];
          const last = Math.min(lastOf(after + 1, limit), log.lastPosition());
          const loseUntil = (end: number): void => {
            for (let position = after + 1 + events.length; position < end; position += 1)
              events.push(lostEvent({ stream: '', revision: 0, position }));
          };
          let bytes = 0;
          for (const row of log.readAll(after, last)) {
            loseUntil(row[0]);
            events.push(soundEvent(leafHash, row));
            bytes += row[7].length;
            if (bytes > pageBytesMax) return events;
          }
          loseUntil(last + 1);
          return events;
        }),
    },
  };
}

function lastOf(first: number, count: number): number {
  return Math.min(first + count - 1, Number.MAX_SAFE_INTEGER);
}

function missing(what: string, position: number): EventStoreDamagedError {
  return new EventStoreDamagedError(`${what} is missing: restore the store from a backup`, { position });
}

/** Runs a read and gives its failure a name. */
export function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof EventStoreDamagedError) throw error;
    if (isSqliteError(error) && !isSqliteError(error, sqliteCodes.corrupt, sqliteCodes.notADatabase)) {
      throw new EventStoreUnavailableError(`the log cannot be read: ${messageOf(error)}`, { cause: error });
    }
    throw new EventStoreDamagedError(`the log is damaged (${messageOf(error)}): restore the store from a backup`, {
      cause: error,
    });
  }
}
