import { DatabaseSync } from 'node:sqlite';
import { keepPrivate } from '../private-file.js';

/** A SQLite file cannot be used. The message names the file, the cause, the remedy, and what the remedy costs. */
export class DatabaseFileError extends Error {
  override readonly name = 'DatabaseFileError';
}

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const codesOfDamage: ReadonlySet<number> = new Set([11, 26]);

/** How a file is opened. */
export interface DatabaseFileOptions {
  /** What is lost with the file, one clause. */
  readonly cost: string;
  readonly timeoutMs: number;
  /** The newest version of its tables that is known; written into the file, which is refused where it has a later one. Default: none. */
  readonly schemaVersion?: number;
}

/**
 * Opens a SQLite file that only its owner can read, or one in memory (`:memory:`), and lets `setUp` create its tables.
 * @throws DatabaseFileError when the file is damaged, or is of a later version of Countersign.
 */
export function openDatabaseFile(
  path: string,
  { cost, timeoutMs, schemaVersion }: DatabaseFileOptions,
  setUp: (database: DatabaseSync) => void,
): DatabaseSync {
  if (path !== ':memory:') keepPrivate(path);
  const database = new DatabaseSync(path, { timeout: timeoutMs });
  try {
    const isOlder = schemaVersion !== undefined && versionOf(database, path, cost, schemaVersion) < schemaVersion;
    setUp(database);
    if (isOlder) database.exec(`PRAGMA user_version = ${String(schemaVersion)}`);
    return database;
  } catch (error) {
    database.close();
    if (!isDamage(error)) throw error;
    const remedy = `move it away, with the files ${path}-wal and ${path}-shm, and start again`;
    throw new DatabaseFileError(`${path} is damaged (${error.message}): ${remedy}. ${cost}`, { cause: error });
  }
}

/** The version of the tables in a file, 0 where it names none. @throws DatabaseFileError */
function versionOf(database: DatabaseSync, path: string, cost: string, known: number): number {
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  if (version <= known) return version;
  const what = `${path} was written by a later version of Countersign (schema version ${String(version)}, this one knows ${String(known)})`;
  throw new DatabaseFileError(`${what}: upgrade Countersign, or move the file away and start again. ${cost}`);
}

function isDamage(error: unknown): error is Error {
  return error instanceof Error && 'errcode' in error && codesOfDamage.has(Number(error.errcode) & 0xff);
}
