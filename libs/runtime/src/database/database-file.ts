import { DatabaseSync } from 'node:sqlite';
import { keepPrivate } from '../private-file.js';

/** A SQLite file cannot be used. The message names the file, the cause, the remedy, and what the remedy costs. */
export class DatabaseFileError extends Error {
  override readonly name = 'DatabaseFileError';
}

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const codesOfDamage: ReadonlySet<number> = new Set([11, 26]);

/**
 * Opens a SQLite file that only its owner can read, or one in memory (`:memory:`), and lets `setUp` create its tables.
 * @param cost what is lost with the file, one clause.
 * @throws DatabaseFileError when the file is damaged.
 */
export function openDatabaseFile(
  path: string,
  { cost, timeoutMs }: { readonly cost: string; readonly timeoutMs: number },
  setUp: (database: DatabaseSync) => void,
): DatabaseSync {
  if (path !== ':memory:') keepPrivate(path);
  const database = new DatabaseSync(path, { timeout: timeoutMs });
  try {
    setUp(database);
    return database;
  } catch (error) {
    database.close();
    if (!isDamage(error)) throw error;
    const remedy = `move it away, with the files ${path}-wal and ${path}-shm, and start again`;
    throw new DatabaseFileError(`${path} is damaged (${error.message}): ${remedy}. ${cost}`, { cause: error });
  }
}

function isDamage(error: unknown): error is Error {
  return error instanceof Error && 'errcode' in error && codesOfDamage.has(Number(error.errcode) & 0xff);
}
