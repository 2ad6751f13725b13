import { DatabaseSync } from 'node:sqlite';
import { keepPrivate } from '@countersign/runtime';
import { EventStoreDamagedError, EventStoreUnavailableError } from '../event-store.js';
import { sizeOf } from './log-end.js';
import { isSqliteError, messageOf, sqliteCodes } from './sqlite-errors.js';
import { scanWal } from './wal-scan.js';
import type { WalScan } from './wal-scan.js';

/** "CSGN": marks a file as an event store of Countersign. */
const applicationId = 0x4353474e;

/**
 * The stored format. `head` comes first, so that it is on page 2 (`headPage`), which every transaction writes: the
 * check of the write-ahead log uses it to find where transactions begin. A stream's name is stored once: names are
 * random, and an index over them would rewrite a page with every event.
 */
const schema = [
  'CREATE TABLE head (id INTEGER PRIMARY KEY, position INTEGER NOT NULL, chain BLOB NOT NULL) STRICT',
  'CREATE TABLE events (position INTEGER PRIMARY KEY, stream INTEGER NOT NULL, revision INTEGER NOT NULL, event_id TEXT NOT NULL, ' +
    'type TEXT NOT NULL, recorded_at TEXT NOT NULL, metadata TEXT NOT NULL, data TEXT NOT NULL, leaf BLOB NOT NULL, chain BLOB NOT NULL) STRICT',
  'CREATE UNIQUE INDEX events_by_stream ON events (stream, revision)',
  'CREATE TABLE streams (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT',
] as const;

const headPage = 2;
/** The smallest page, and so the smallest file that is not empty. */
const headerBytes = 512;

/** An opened log file. */
export interface OpenedDatabase {
  readonly database: DatabaseSync;
  readonly file: string;
  readonly wal: WalScan;
  /** The size of the write-ahead log before it was opened. */
  readonly walBytes: number;
}

/**
 * Opens the log, or creates it.
 * @param bytesMax the largest size of the main file; beyond it a write fails as on a full disk.
 * @throws EventStoreDamagedError when what is there is not a log as it was written.
 */
export function openDatabase(file: string, bytesMax?: number): OpenedDatabase {
  const [bytes, walBytes] = [sizeOf(file), sizeOf(`${file}-wal`)];
  if (bytes === 0 && walBytes > 0) {
    throw new EventStoreDamagedError(
      `${file} is missing or empty, but ${file}-wal holds events: restore both together`,
    );
  }
  if (bytes > 0 && bytes < headerBytes) {
    // SQLite would treat such a short file as a new one.
    throw new EventStoreDamagedError(`${file} is cut off after ${bytes} bytes: restore the folder from a backup`);
  }
  const wal = scanWal(`${file}-wal`, headPage);
  const database = openFile(file);
  try {
    checkSqlite(database);
    configure(database, file);
    if (isUnwritten(database)) create(database);
    checkSchema(database, file);
    if (bytesMax !== undefined) limitPages(database, bytesMax);
    return { database, file, wal, walBytes };
  } catch (error) {
    closeUnchanged(database, file);
    throw nameFailure(error, file);
  }
}

/**
 * Closes a refused log and leaves its files unchanged. The last connection to close moves the write-ahead log into the
 * main file and deletes it, which could destroy the evidence for a repair. A reader in the middle of its transaction
 * prevents that.
 */
export function closeUnchanged(database: DatabaseSync, file: string): void {
  let reader: DatabaseSync | undefined;
  try {
    reader = new DatabaseSync(file, { readOnly: true });
    reader.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
  } catch {
    // A file that cannot be read holds nothing that closing it could change.
  }
  database.close();
  reader?.close();
}

/** @throws EventStoreUnavailableError when the file cannot be opened, for want of a right, say. */
export function openFile(file: string): DatabaseSync {
  try {
    keepPrivate(file);
    return new DatabaseSync(file);
  } catch (error) {
    throw new EventStoreUnavailableError(`${file} cannot be opened: ${messageOf(error)}`, { cause: error });
  }
}

/** @throws EventStoreUnavailableError when SQLite is too old: it treats `wal_checkpoint(NOOP)` as a real checkpoint. */
function checkSqlite(database: DatabaseSync): void {
  const version = String(database.prepare('SELECT sqlite_version() AS version').get()?.['version']);
  if (isRecentSqlite(version)) return;
  throw new EventStoreUnavailableError(
    `SQLite ${version} of Node ${process.version} is too old: use a Node with SQLite 3.51 or newer, such as Node 26`,
  );
}

/** Returns whether a version of SQLite is 3.51 or newer. */
export function isRecentSqlite(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 3 || (major === 3 && minor >= 51);
}

function configure(database: DatabaseSync, file: string): void {
  // FULL: a commit returns only after the write-ahead log is on the disk. Checkpoints are explicit (automatic ones
  // swallow their errors), and no page leaves the cache before its commit, so the frames of a transaction are in order
  // of pages.
  database.exec(`
    PRAGMA page_size = 4096;
    PRAGMA auto_vacuum = NONE;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA cache_spill = OFF;
    PRAGMA cache_size = -8192;
    PRAGMA cell_size_check = ON;
    PRAGMA trusted_schema = OFF;
  `);
  const mode = database.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode'];
  if (mode !== 'wal') throw new EventStoreUnavailableError(`${file} cannot be used here: it needs a local file system`);
}

function limitPages(database: DatabaseSync, bytesMax: number): void {
  const pageBytes = Number(database.prepare('PRAGMA page_size').get()?.['page_size']);
  database.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(bytesMax / pageBytes))}`);
}

/** A file that no schema was ever committed to: created now, or by a process that was killed while creating it. */
function isUnwritten(database: DatabaseSync): boolean {
  const pages = database.prepare('PRAGMA page_count').get()?.['page_count'];
  const tables = database.prepare('SELECT count(*) AS count FROM sqlite_schema').get()?.['count'];
  return tables === 0 && typeof pages === 'number' && pages <= 1;
}

function create(database: DatabaseSync): void {
  database.exec(`
    BEGIN IMMEDIATE;
    ${schema.join(';\n')};
    INSERT INTO head VALUES (1, 0, zeroblob(32));
    PRAGMA application_id = ${applicationId};
    COMMIT;
    PRAGMA wal_checkpoint(TRUNCATE);
  `);
}

function checkSchema(database: DatabaseSync, file: string): void {
  const found = database
    .prepare('SELECT sql, rootpage FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rootpage')
    .all();
  const marked = database.prepare('PRAGMA application_id').get()?.['application_id'] === applicationId;
  const isAsCreated =
    found.length === schema.length &&
    schema.every((statement, index) => found[index]?.['sql'] === statement) &&
    found[0]?.['rootpage'] === headPage;
  if (marked && isAsCreated) return;
  throw new EventStoreDamagedError(
    `${file} is not an event store of this version of Countersign, or its schema is damaged`,
  );
}

function nameFailure(error: unknown, file: string): unknown {
  if (!isSqliteError(error)) return error;
  if (!isSqliteError(error, sqliteCodes.sqlError, sqliteCodes.corrupt, sqliteCodes.notADatabase)) {
    return new EventStoreUnavailableError(`${file} cannot be opened: ${messageOf(error)}`, { cause: error });
  }
  return new EventStoreDamagedError(
    `${file} is damaged (${messageOf(error)}): restore the folder from a backup; do not repair it by hand`,
    { cause: error },
  );
}
