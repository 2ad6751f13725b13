import type { DatabaseSync } from 'node:sqlite';
import { openDatabaseFile } from '@countersign/runtime';

/** Sessions in a SQLite file: they survive a restart. If the file is lost, people sign in again. */
export function openDatabase(path: string, tables: string, cost: string): DatabaseSync {
  return openDatabaseFile(path, { cost, timeoutMs: 2000 }, (database) => {
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${tables}`);
  });
}
