import type { Person, SessionStore } from '../inbox/session-store.js';
import { openDatabase } from './open-database.js';

interface Row {
  readonly idHash: string;
  readonly tokenHash: string | null;
  readonly person: string | null;
  readonly openedAtMs: number;
  readonly expiresAtMs: number;
}

const tables = `
  CREATE TABLE IF NOT EXISTS sessions (
    idHash TEXT PRIMARY KEY, tokenHash TEXT, person TEXT, openedAtMs INTEGER NOT NULL, expiresAtMs INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS sessionsByAge ON sessions (openedAtMs);
`;

/** Sessions in a SQLite file: a restart signs nobody out. Lost with the file, people sign in again. */
export function createSessionStore(path: string): SessionStore {
  const database = openDatabase(path, tables);
  const find = database.prepare('SELECT * FROM sessions WHERE idHash = ?');
  const save = database.prepare('INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?)');
  const trim = database.prepare(
    'DELETE FROM sessions WHERE idHash IN (SELECT idHash FROM sessions ORDER BY openedAtMs DESC LIMIT -1 OFFSET ?)',
  );
  const remove = database.prepare('DELETE FROM sessions WHERE idHash = ?');
  const purge = database.prepare('DELETE FROM sessions WHERE expiresAtMs <= ?');
  return {
    find: (idHash) => {
      const row = find.get(idHash) as Row | undefined;
      return row === undefined
        ? undefined
        : { ...row, person: row.person === null ? null : (JSON.parse(row.person) as Person) };
    },
    save: ({ idHash, tokenHash, person, openedAtMs, expiresAtMs }, countMax) => {
      save.run(idHash, tokenHash, person === null ? null : JSON.stringify(person), openedAtMs, expiresAtMs);
      trim.run(countMax);
    },
    remove: (idHash) => {
      remove.run(idHash);
    },
    purge: (beforeMs) => {
      purge.run(beforeMs);
    },
    close: () => {
      database.close();
    },
  };
}
