import type { IdempotencyStore, StoredAnswer } from '../idempotency.js';
import { openDatabase } from './open-database.js';

const tables = `
  CREATE TABLE IF NOT EXISTS answers (
    scope TEXT PRIMARY KEY, bodyHash TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL,
    position INTEGER, storedAtMs INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS answersByAge ON answers (storedAtMs);
`;

/** Stored responses in a file. They survive a restart, and record the position of the log. */
export interface IdempotencyFile extends IdempotencyStore {
  /** Returns the highest log position of a stored response; 0: none. */
  readonly furthest: () => number;
  /** Deletes the responses beyond a position of the log. */
  readonly forgetBeyond: (position: number) => void;
}

/**
 * Stored responses in a SQLite file; claims are stored unshortened. Deleted ones are overwritten. A power cut may lose the latest ones, whose
 * commands the event store still recognises.
 */
export function createIdempotencyStore(path: string): IdempotencyFile {
  const database = openDatabase(
    path,
    `PRAGMA secure_delete = ON; ${tables}`,
    'Requests of the last 24 hours that are repeated with their Idempotency-Key are handled again.',
  );
  const find = database.prepare('SELECT bodyHash, status, body, position, storedAtMs FROM answers WHERE scope = ?');
  const save = database.prepare('INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)');
  const purge = database.prepare('DELETE FROM answers WHERE storedAtMs < ?');
  const furthest = database.prepare('SELECT max(position) AS furthest FROM answers');
  const forget = database.prepare('DELETE FROM answers WHERE position > ?');
  return {
    furthest: () => Number(furthest.get()?.['furthest'] ?? 0),
    forgetBeyond: (position) => {
      forget.run(position);
    },
    find: (scope) => find.get(scope) as StoredAnswer | undefined,
    save: (scope, { bodyHash, status, body, position, storedAtMs }) => {
      save.run(scope, bodyHash, status, body, position, storedAtMs);
    },
    purge: (beforeMs) => {
      purge.run(beforeMs);
    },
    clear: () => {
      database.exec('DELETE FROM answers; PRAGMA wal_checkpoint(TRUNCATE)');
    },
    close: () => {
      database.close();
    },
  };
}
