import { createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { openDatabaseFile } from '@countersign/runtime';
import { isSqliteError, sqliteCodes } from '../embedded/sqlite-errors.js';
import { KeysUnavailableError } from '../event-store.js';
import { closeBox, openBox } from './box.js';
import type { RootKey } from './root-key.js';

/**
 * `hashing` has a row once the root key was rotated: before, the key is derived from the root key. `lost` has the keys whose loss
 * was accepted, `checked` the place in the log up to which every key was looked for.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS root (id INTEGER PRIMARY KEY CHECK (id = 1), fingerprint TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS hashing (id INTEGER PRIMARY KEY CHECK (id = 1), wrapped BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY, subject TEXT NOT NULL, wrapped BLOB,
    state TEXT NOT NULL CHECK (state IN ('current', 'retired', 'erasing', 'destroyed'))
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS copies (
    owner TEXT PRIMARY KEY, id TEXT NOT NULL, wrapped BLOB NOT NULL, erased TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS lost (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS checked (
    id INTEGER PRIMARY KEY CHECK (id = 1), position INTEGER NOT NULL, event TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX IF NOT EXISTS keys_current ON keys (subject) WHERE state = 'current';
  CREATE INDEX IF NOT EXISTS keys_by_subject ON keys (subject);
`;

/** How long the process waits for another program that uses the file, such as a backup. */
const timeoutMs = 2000;
const stepMs = 5;
const pause = new Int32Array(new SharedArrayBuffer(4));

/** Opens `keys.db`, or creates it. @throws DatabaseFileError when the file is damaged. */
export function openKeysDatabase(folder: string): DatabaseSync {
  const cost = 'Without its keys the sensitive values of the log can never be read again';
  return openDatabaseFile(join(folder, 'keys.db'), { cost, timeoutMs, schemaVersion: 1 }, (opened) => {
    opened.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; ${tables}`);
    // A process that ended while it destroyed a key may have left its bytes here.
    emptyWal(opened);
  });
}

/**
 * Empties the write-ahead log, which has the bytes of changed rows until then. Returns false when other processes use the
 * file for longer than the timeout.
 */
export function emptyWal(database: DatabaseSync): boolean {
  const empty = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
  const endsAt = performance.now() + timeoutMs;
  // SQLite waits for readers and writers, but is busy at once while another process empties the log: that may have begun
  // before the last change here. https://sqlite.org/c3ref/wal_checkpoint_v2.html
  while (empty.get()?.['busy'] !== 0) {
    if (performance.now() >= endsAt) return false;
    Atomics.wait(pause, 0, 0, stepMs);
  }
  return true;
}

/** Runs the work in one transaction. @throws KeysUnavailableError when another process writes for longer than the timeout. */
export function transaction<T>(database: DatabaseSync, work: () => T): T {
  begin(database);
  try {
    const value = work();
    database.exec('COMMIT');
    return value;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function begin(database: DatabaseSync): void {
  try {
    database.exec('BEGIN IMMEDIATE');
  } catch (cause) {
    if (!isSqliteError(cause, sqliteCodes.busy)) throw cause;
    throw new KeysUnavailableError('keys.db is in use by another process: repeating the request is safe', { cause });
  }
}

/** A key of a subject before it is wrapped, or the row of one. */
interface KeyName {
  readonly id: string;
  readonly subject: string;
}

/** Wraps the key of a subject. It opens only as the key of its own row. */
export function wrapKey({ wrapping }: RootKey, name: KeyName, bytes: Uint8Array): Uint8Array {
  return closeBox(wrapping, boundTo(name), bytes);
}

/** Returns the bytes of a wrapped key. */
export function unwrapKey({ wrapping }: RootKey, name: KeyName, wrapped: Uint8Array): Buffer {
  return openBox(wrapping, boundTo(name), wrapped);
}

function boundTo({ id, subject }: KeyName): string {
  return JSON.stringify(['key', id, subject]);
}

const hashingBound = JSON.stringify(['hashing']);

/** The key of the hashes of subjects. It outlives rotations, because these hashes name streams of the log. */
export function hashingKey(database: DatabaseSync, root: RootKey): KeyObject {
  const wrapped = database.prepare('SELECT wrapped FROM hashing').get()?.['wrapped'];
  if (wrapped === undefined) return root.hashing;
  return createSecretKey(openBox(root.wrapping, hashingBound, wrapped as Uint8Array));
}

/** Stores that key, wrapped by a root key. */
export function saveHashingKey(database: DatabaseSync, root: RootKey, key: KeyObject): void {
  const wrapped = closeBox(root.wrapping, hashingBound, key.export());
  database.prepare('INSERT OR REPLACE INTO hashing VALUES (1, ?)').run(wrapped);
}
