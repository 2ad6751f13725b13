import { statSync } from 'node:fs';
import { EventStoreDamagedError } from '../event-store.js';

/** The sources of the expected end of the log. */
export interface LogEnd {
  /** The file of the log. */
  readonly file: string;
  /** The position of its last event. */
  readonly head: number;
  /** The noted position of the last acknowledged event. */
  readonly acknowledged: number | undefined;
  /** True if the main file is marked as in use by a process. */
  readonly isMarkedInUse: boolean;
  readonly walBytes: number;
  /** The end that the operator accepts although later events are missing. */
  readonly acceptedEnd: number | undefined;
}

/** A header and the header of a frame: in a shorter write-ahead log nothing was ever committed. */
const walBytesMin = 32 + 24;

/**
 * Refuses a log that has lost its end.
 *
 * A main file that is marked as in use and has no write-ahead log is intact in one case only: SQLite moved everything
 * into it when its last connection closed, although the process did not close the store. Then the log reaches the
 * stored position.
 *
 * @throws EventStoreDamagedError naming what is missing and the remedy.
 */
export function checkLogEnd({ file, head, acknowledged, isMarkedInUse, walBytes, acceptedEnd }: LogEnd): void {
  if (acceptedEnd === head) return;
  const remedy =
    `put back events.db and events.db-wal together, or restore the folder from a backup (countersign restore, also of a copy by sqlite3 .backup). To go on without the missing ` +
    `events, start once with COUNTERSIGN_ACCEPT_LOG_END=${head}`;
  if (acknowledged !== undefined && acknowledged > head) {
    throw new EventStoreDamagedError(
      `${file} ends at position ${head}, but events up to position ${acknowledged} were acknowledged ` +
        `(events.acknowledged): ${remedy}`,
      { position: head + 1 },
    );
  }
  if (isMarkedInUse && walBytes < walBytesMin && acknowledged === undefined) {
    throw new EventStoreDamagedError(
      `${file} was in use when it was last written, and ${file}-wal is missing or empty: the log ends at position ` +
        `${head} and may lack acknowledged events: ${remedy}`,
    );
  }
}

/** The size of a file in bytes; 0 when it is missing, or a folder: each file system gives folders sizes of its own. */
export function sizeOf(file: string): number {
  const found = statSync(file, { throwIfNoEntry: false });
  return found?.isFile() === true ? found.size : 0;
}
