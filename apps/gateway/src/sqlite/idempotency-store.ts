import type { IdempotencyStore, StoredAnswer } from '../idempotency.js';
import { openDatabase } from './open-database.js';

const tables = `
  CREATE TABLE IF NOT EXISTS answers (
    scope TEXT PRIMARY KEY, bodyHash TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL,
    position INTEGER, storedAtMs INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS answersByAge ON answers (storedAtMs);
`;

/**
 * Given answers in a SQLite file, claims whole. Those that a power cut takes were answers to commands that the event store
 * still recognises.
 */
export function createIdempotencyStore(path: string): IdempotencyStore {
  const database = openDatabase(path, tables);
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
