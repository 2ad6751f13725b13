import type { DatabaseSync } from 'node:sqlite';
import type { Person, SessionStore, StoredSession } from '../inbox/session-store.js';
import { openDatabase } from './open-database.js';

interface Row {
  readonly idHash: string;
  readonly tokenHash: string | null;
  readonly holder: string;
  readonly person: string | null;
  readonly openedAtMs: number;
  readonly expiresAtMs: number;
}

const tables = `
  CREATE TABLE IF NOT EXISTS sessions (
    idHash TEXT PRIMARY KEY, tokenHash TEXT, person TEXT, openedAtMs INTEGER NOT NULL, expiresAtMs INTEGER NOT NULL,
    holder TEXT NOT NULL DEFAULT ''
  ) STRICT, WITHOUT ROWID;
`;

const indexes = `
  DROP INDEX IF EXISTS sessionsByAge;
  CREATE INDEX IF NOT EXISTS sessionsByHolder ON sessions (holder, openedAtMs);
  CREATE INDEX IF NOT EXISTS sessionsByEnd ON sessions (expiresAtMs);
`;

/** Sessions in a SQLite file: they survive a restart. If the file is lost, people sign in again. */
export function createSessionStore(path: string): SessionStore {
  const database = openDatabase(path, tables, 'Everybody signs in again.');
  addHolder(database);
  database.exec(indexes);
  const find = database.prepare('SELECT * FROM sessions WHERE idHash = ?');
  const latest = database.prepare(
    'SELECT * FROM sessions WHERE holder = ? AND person IS NOT NULL ORDER BY openedAtMs DESC LIMIT 1',
  );
  const save = database.prepare('INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?)');
  const trim = database.prepare(
    `DELETE FROM sessions WHERE holder = ?1 AND idHash IN (
      SELECT idHash FROM sessions WHERE holder = ?1 AND idHash <> ?2 ORDER BY openedAtMs DESC LIMIT -1 OFFSET ?3 - 1
    )`,
  );
  const remove = database.prepare('DELETE FROM sessions WHERE idHash = ?');
  const purge = database.prepare('DELETE FROM sessions WHERE expiresAtMs <= ?');
  return {
    find: (idHash) => toSession(find.get(idHash) as Row | undefined),
    latestOfProvider: (holder) => toSession(latest.get(holder) as Row | undefined),
    save: ({ idHash, tokenHash, holder, person, openedAtMs, expiresAtMs }, perHolderMax) => {
      save.run(idHash, tokenHash, person === null ? null : JSON.stringify(person), openedAtMs, expiresAtMs, holder);
      trim.run(holder, idHash, perHolderMax);
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

function toSession(row: Row | undefined): StoredSession | undefined {
  if (row === undefined) return undefined;
  return { ...row, person: row.person === null ? null : (JSON.parse(row.person) as Person) };
}

/** The sessions of an older version have no holder: they end with their time. */
function addHolder(database: DatabaseSync): void {
  const columns = database.prepare("SELECT name FROM pragma_table_info('sessions')").all();
  if (columns.some(({ name }) => name === 'holder')) return;
  database.exec("ALTER TABLE sessions ADD COLUMN holder TEXT NOT NULL DEFAULT ''");
}
