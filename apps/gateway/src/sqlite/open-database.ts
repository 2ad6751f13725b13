import { DatabaseSync } from 'node:sqlite';
import { keepPrivate } from '@countersign/runtime';

/**
 * A database for its owner's eyes, with its tables, in a file or in memory (`:memory:`). It never waits for the disk:
 * after a power cut the last rows may be missing.
 */
export function openDatabase(path: string, tables: string): DatabaseSync {
  if (path !== ':memory:') keepPrivate(path);
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA busy_timeout = 2000;
    ${tables}
  `);
  return database;
}
