import type { DatabaseSync } from 'node:sqlite';
import { openDatabaseFile } from '@countersign/runtime';

/**
 * Opens a database that only its owner can read, with its tables, in a file or in memory (`:memory:`). Writes do not
 * wait for the disk: after a power cut the last rows may be missing.
 * @param cost what is lost with the file, one clause.
 * @throws DatabaseFileError when the file is damaged, or is of a later version of Countersign.
 */
export function openDatabase(path: string, tables: string, cost: string): DatabaseSync {
  return openDatabaseFile(path, { cost, timeoutMs: 2000, schemaVersion }, (database) => {
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${tables}`);
  });
}

/** Of the files of a gateway. A change that an older version cannot use raises it; 0 are the files before there was one. */
const schemaVersion = 1;
