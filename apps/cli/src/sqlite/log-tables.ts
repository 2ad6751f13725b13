import type { DatabaseSync } from 'node:sqlite';

/** The tables of the stored format, as SQLite keeps them. */
const tables = [
  'CREATE TABLE head (id INTEGER PRIMARY KEY, position INTEGER NOT NULL, chain BLOB NOT NULL) STRICT',
  'CREATE TABLE events (position INTEGER PRIMARY KEY, stream INTEGER NOT NULL, revision INTEGER NOT NULL, event_id TEXT NOT NULL, type TEXT NOT NULL, recorded_at TEXT NOT NULL, metadata TEXT NOT NULL, data TEXT NOT NULL, leaf BLOB NOT NULL, chain BLOB NOT NULL) STRICT',
  'CREATE UNIQUE INDEX events_by_stream ON events (stream, revision)',
  'CREATE TABLE streams (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT',
];

/**
 * Returns what is wrong with the tables of a log whose rows are all there. Attacks: a table that may hold a row without a
 * position, a view in the place of a table, and an index without a row, by which a stream is read without its last event.
 */
export function tableDamage(log: DatabaseSync): readonly string[] {
  try {
    const found = log.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rootpage').all();
    const isAsWritten = found.length === tables.length && tables.every((sql, at) => found[at]?.['sql'] === sql);
    if (!isAsWritten) return ['its tables are not those of a log'];
    const counts = log.prepare(`SELECT (SELECT count(*) FROM events INDEXED BY events_by_stream) AS indexed,
      ifnull((SELECT max(position) FROM events NOT INDEXED) - (SELECT min(position) FROM events NOT INDEXED) + 1, 0) AS rows`);
    const { indexed, rows } = counts.get() ?? {};
    return indexed === rows ? [] : ['the index of its streams has other events than the log'];
  } catch (error) {
    return [`its tables cannot be read: ${error instanceof Error ? error.message : String(error)}`];
  }
}
