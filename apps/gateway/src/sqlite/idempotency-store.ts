import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { IdempotencyStore, StoredAnswer } from '../idempotency.js';

/**
 * Given answers in a SQLite file. It never waits for the disk: after a power cut the last answers may be missing, and the
 * event store still recognises the commands.
 */
export function createIdempotencyStore(path: string): IdempotencyStore {
  // Claims are in it whole: for its owner's eyes, like the log.
  closeSync(openSync(path, 'a', 0o600));
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA busy_timeout = 2000;
    CREATE TABLE IF NOT EXISTS answers (
      scope TEXT PRIMARY KEY, bodyHash TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL,
      position INTEGER, storedAtMs INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS answersByAge ON answers (storedAtMs);
  `);
  const find = database.prepare('SELECT bodyHash, status, body, position, storedAtMs FROM answers WHERE scope = ?');
  const save = database.prepare('INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)');
  const purge = database.prepare('DELETE FROM answers WHERE storedAtMs < ?');
  return {
    find: (scope) => find.get(scope) as StoredAnswer | undefined,
    save: (scope, { bodyHash, status, body, position, storedAtMs }) => {
      save.run(scope, bodyHash, status, body, position, storedAtMs);
    },
    purge: (beforeMs) => {
      purge.run(beforeMs);
    },
    close: () => {
      database.close();
    },
  };
}
