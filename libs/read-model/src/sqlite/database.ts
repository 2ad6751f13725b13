import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { keepPrivate } from '@countersign/runtime';
import type { Log } from '@countersign/runtime';
import { readerVersion } from './unreadable-rows.js';

/** Grows with every change of the tables, of a row's form or of the fold: a file of another version is rebuilt. */
export const schemaVersion = 27;

/**
 * `calls` and `requests` have one row per call, separated so that a later event rewrites only what it can have changed.
 * `nested` has a row for each call of the same principal inside which a call runs, `batches` one for each call of an
 * all-or-nothing batch with an id. `turns` has the sequential calls that are not settled, by queue and place; `asks`: people will be
 * asked about it at its turn; `held`: it cannot be read; `passed_at`: calls behind this position do not wait for it. `ended_runs` has the latest denial with which a rule ended the run of a principal. `approvals` has only the columns
 * that lists filter by and are sorted by. Every `seq` is a position of the log, so new rows are next to the last ones. The
 * indexes of approvals contain the columns that are filtered most: such a filter without matches reads no row, and a page
 * of 100,000 pending takes milliseconds. The index of calls is read once per state, and the states are merged. `runs` has one row for each agent
 * and principal of a run. `places` has some positions of events: a store may read its log from such a position alone. `blocks`
 * summarizes the events of the log, 256 at a time; the one that is not full yet is in `meta`.
 */
const tables = `
  CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    position INTEGER NOT NULL, previous INTEGER NOT NULL, event_id TEXT NOT NULL,
    calls INTEGER NOT NULL, approvals INTEGER NOT NULL, pending INTEGER NOT NULL, unknown INTEGER NOT NULL,
    events INTEGER NOT NULL, latest TEXT NOT NULL, block TEXT NOT NULL
  ) STRICT;
  INSERT INTO meta VALUES (1, 0, 0, '', 0, 0, 0, 0, 0, '', '');
  CREATE TABLE places (seq INTEGER PRIMARY KEY, latest TEXT NOT NULL) STRICT;
  CREATE TABLE blocks (
    seq INTEGER PRIMARY KEY, start INTEGER NOT NULL, earliest TEXT NOT NULL, latest TEXT NOT NULL, summary TEXT NOT NULL
  ) STRICT;
  CREATE TABLE seal (
    id INTEGER PRIMARY KEY CHECK (id = 1), keys_made INTEGER NOT NULL, erased_keys TEXT NOT NULL
  ) STRICT;
  CREATE TABLE calls (
    seq INTEGER PRIMARY KEY, call_id TEXT NOT NULL, tenant TEXT NOT NULL, run_id TEXT NOT NULL,
    state TEXT NOT NULL, due_at INTEGER, tool_name TEXT NOT NULL, agent_id TEXT NOT NULL, requested_by TEXT NOT NULL,
    requested_at INTEGER NOT NULL, progress ANY NOT NULL
  ) STRICT;
  CREATE TABLE requests (seq INTEGER PRIMARY KEY, request ANY NOT NULL) STRICT;
  CREATE TABLE approvals (
    seq INTEGER PRIMARY KEY, call_seq INTEGER NOT NULL, tenant TEXT NOT NULL, state TEXT NOT NULL,
    tool_name TEXT NOT NULL, run_id TEXT NOT NULL, agent_id TEXT NOT NULL, requested_by TEXT NOT NULL, asked TEXT,
    requested_at INTEGER NOT NULL, tool_call_id TEXT NOT NULL, rule_id TEXT NOT NULL, risk INTEGER NOT NULL,
    expires_at INTEGER NOT NULL, responded_by TEXT
  ) STRICT;
  CREATE TABLE runs (
    tenant TEXT NOT NULL, run_id TEXT NOT NULL, agent_id TEXT NOT NULL, requested_by TEXT NOT NULL, seq INTEGER NOT NULL,
    open_calls INTEGER NOT NULL, pending INTEGER NOT NULL, last_event_at TEXT NOT NULL,
    PRIMARY KEY (tenant, run_id, agent_id, requested_by)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE grants (
    seq INTEGER PRIMARY KEY, grant_id TEXT NOT NULL, tenant TEXT NOT NULL, tool_name TEXT NOT NULL,
    status TEXT NOT NULL, expires_at TEXT NOT NULL, progress ANY NOT NULL
  ) STRICT;
  CREATE TABLE unreadable (
    stream TEXT PRIMARY KEY, position INTEGER NOT NULL, reader TEXT NOT NULL, mark TEXT NOT NULL
  ) STRICT;
  CREATE TABLE nested (
    seq INTEGER NOT NULL, tenant TEXT NOT NULL, outer_run TEXT NOT NULL, outer_call TEXT NOT NULL
  ) STRICT;
  CREATE TABLE batches (
    seq INTEGER PRIMARY KEY, tenant TEXT NOT NULL, requested_by TEXT NOT NULL, run_id TEXT NOT NULL, batch_id TEXT NOT NULL
  ) STRICT;
  CREATE TABLE turns (
    queue TEXT NOT NULL, place INTEGER NOT NULL, tenant TEXT NOT NULL, call_id TEXT NOT NULL, requested_by TEXT NOT NULL,
    run_id TEXT NOT NULL, agent_id TEXT NOT NULL, asks INTEGER NOT NULL, waits INTEGER NOT NULL, round INTEGER NOT NULL,
    held INTEGER NOT NULL, passed_at INTEGER, PRIMARY KEY (queue, place)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE ended_runs (
    tenant TEXT NOT NULL, requested_by TEXT NOT NULL, run_id TEXT NOT NULL, seq INTEGER NOT NULL, call_id TEXT NOT NULL,
    PRIMARY KEY (tenant, requested_by, run_id)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX calls_by_id ON calls (call_id);
  CREATE UNIQUE INDEX grants_by_id ON grants (grant_id);
  CREATE INDEX grants_by_tenant ON grants (tenant, seq);
  CREATE INDEX calls_by_run ON calls (tenant, run_id);
  CREATE INDEX calls_by_state
    ON calls (tenant, state, seq, tool_name, run_id, agent_id, requested_by, requested_at);
  CREATE INDEX runs_open ON runs (tenant, seq, agent_id, requested_by, open_calls) WHERE open_calls > 0;
  CREATE INDEX nested_by_run ON nested (tenant, outer_run, seq);
  CREATE INDEX nested_by_call ON nested (tenant, outer_call, seq);
  CREATE INDEX batches_by_id ON batches (tenant, requested_by, run_id, batch_id, seq);
  CREATE INDEX turns_waiting ON turns (queue) WHERE waits = 1;
  CREATE INDEX turns_held ON turns (queue, passed_at) WHERE held = 1;
  CREATE INDEX turns_asking ON turns (tenant, requested_by, agent_id) WHERE asks = 1;
  CREATE INDEX calls_by_due ON calls (due_at) WHERE due_at IS NOT NULL;
  CREATE UNIQUE INDEX blocks_by_start ON blocks (start);
  CREATE INDEX places_by_time ON places (latest, seq);
  CREATE INDEX approvals_pending
    ON approvals (tenant, seq, tool_name, run_id, agent_id, asked, requested_at, rule_id, risk) WHERE state = 'pending';
  CREATE INDEX approvals_ended
    ON approvals (tenant, state, seq, tool_name, run_id, agent_id, asked, requested_at, rule_id, risk)
    WHERE state <> 'pending';
  CREATE INDEX approvals_by_expiry ON approvals (tenant, state, expires_at, seq);
  CREATE INDEX approvals_by_agent ON approvals (tenant, requested_by, agent_id, state, seq);
  CREATE INDEX approvals_by_principal ON approvals (tenant, requested_by, state, seq);
  PRAGMA user_version = ${String(schemaVersion)};
`;

/**
 * NORMAL in WAL mode: no flush at commit, and no damage by a power cut; lost rows are read from the log again. Only
 * checkpoints of the WAL flush, and a WAL of 32 MB makes those rare.
 */
const settings = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 8192;
  PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY; PRAGMA busy_timeout = 2000;
`;

/** For a new file that is deleted on any error: no journal, so each page is written once. `seal` makes it durable. */
const scratchSettings = `
  PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -32768;
  PRAGMA temp_store = MEMORY;
`;

/** Where a complete rebuilt file waits for the next opening. */
export function rebuiltFile(file: string): string {
  return `${file}.rebuilt`;
}

/** Deletes a database with its side files. The WAL first: SQLite would apply a stale one to a new file. */
export function discard(file: string): void {
  for (const suffix of ['-wal', '-shm', '-journal', '']) rmSync(`${file}${suffix}`, { force: true });
}

/** Replaces the current file by a rebuilt one, if there is one. The next call completes it after a crash. */
export function adoptRebuilt(file: string): boolean {
  if (!existsSync(rebuiltFile(file))) return false;
  discard(file);
  renameSync(rebuiltFile(file), file);
  return true;
}

/** SQLITE_ERROR (no such table), SQLITE_CORRUPT, SQLITE_NOTADB. Others, such as "disk full", say nothing about the file. */
const codesOfDamage: ReadonlySet<number> = new Set([1, 11, 26]);

function isDamage(error: unknown): error is Error {
  return error instanceof Error && 'errcode' in error && codesOfDamage.has(Number(error.errcode) & 0xff);
}

/** SQLITE_FULL: nothing is wrong with the file, it only cannot grow now. */
export function isDiskFull(error: unknown): boolean {
  return (error as { readonly errcode?: unknown } | null)?.errcode === 13;
}

/** Encrypts the rows of calls with sensitive values. */
export interface RowSeal {
  readonly close: (keyId: string, text: string) => Uint8Array;
  readonly open: (stored: Uint8Array) => string;
  /** The number of keys that were ever made: a file that knows more of them is built again. */
  readonly keysMade: () => number;
  /** Differs after each erasure: a file that was built before it is built again. */
  readonly erasedKeys: () => string;
}

/** For a log without sealed events. */
const noSeal: RowSeal = {
  close: () => {
    throw new Error('the log has sealed events: the read model needs the keys of its folder');
  },
  open: () => {
    throw new Error('the read model has sealed rows: it needs the keys of its folder');
  },
  keysMade: () => 0,
  erasedKeys: () => '',
};

/** A column as it is stored: encrypted when the row has sensitive values. */
export function toStoredText(seal: RowSeal | undefined, keyId: string | null, text: string): string | Uint8Array {
  return keyId === null ? text : (seal ?? noSeal).close(keyId, text);
}

function connect(file: string, { open }: RowSeal = noSeal): DatabaseSync {
  keepPrivate(file);
  const db = new DatabaseSync(file);
  db.function('opened', { deterministic: true, directOnly: true }, (stored) => open(stored as Uint8Array));
  return db;
}

function create(file: string, seal = noSeal, how = settings): DatabaseSync {
  const db = connect(file, seal);
  db.exec(how);
  db.exec(`BEGIN IMMEDIATE; ${tables}`);
  db.prepare('INSERT INTO seal VALUES (1, ?, ?)').run(seal.keysMade(), seal.erasedKeys());
  db.exec('COMMIT');
  return db;
}

/** Why the file may have rows that cannot be opened, or rows with values that are erased. */
function reasonInSeal(db: DatabaseSync, seal: RowSeal): string | undefined {
  const { keys_made: made, erased_keys: erased } = db.prepare('SELECT * FROM seal').get() ?? {};
  if (Number(made) > seal.keysMade()) return 'it has rows with keys that keys.db does not have';
  return erased === seal.erasedKeys() ? undefined : 'values were erased since it was built';
}

/** Why streams that were set aside when the file was written may be readable now. */
function reasonInUnreadable(db: DatabaseSync): string | undefined {
  const { reader } = db.prepare('SELECT reader FROM unreadable LIMIT 1').get() ?? {};
  const isOther = reader !== undefined && reader !== readerVersion();
  return isOther ? 'another version set streams aside that this one may be able to read' : undefined;
}

function reasonInRows(db: DatabaseSync, seal: RowSeal): string | undefined {
  return reasonInSeal(db, seal) ?? reasonInUnreadable(db);
}

/** Why a file cannot be used, or the database in it. */
function openExisting(file: string, seal = noSeal): DatabaseSync | string {
  const db = connect(file, seal);
  let reason: string | undefined;
  try {
    db.exec(settings);
    const version = db.prepare('PRAGMA user_version').get()?.['user_version'];
    const check = db.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
    if (version !== schemaVersion) reason = `its schema version is ${String(version)}, not ${String(schemaVersion)}`;
    else if (check !== 'ok') reason = `it is damaged: ${String(check)}`;
    else if (db.prepare('SELECT position FROM meta').get() === undefined) reason = 'it is damaged: no checkpoint';
    else reason = reasonInRows(db, seal);
  } catch (error) {
    if (!isDamage(error)) throw error;
    reason = `it is damaged: ${error.message}`;
  }
  if (reason === undefined) return db;
  db.close();
  return reason;
}

/** Opens a read model's file. A damaged one, or one of another version, is deleted: the log has everything. */
export function openDatabase(file: string, log: Log, seal?: RowSeal): DatabaseSync {
  if (adoptRebuilt(file)) log.info({ file }, 'the rebuilt read model replaces the old one');
  if (!existsSync(file)) {
    discard(file);
    return create(file, seal);
  }
  const opened = openExisting(file, seal);
  if (typeof opened !== 'string') return opened;
  log.warn({ file, reason: opened }, 'the read model is deleted and rebuilt from the log');
  discard(file);
  return create(file, seal);
}

/** An empty database to build in; leftovers are deleted. */
export function createScratchDatabase(file: string, seal?: RowSeal): DatabaseSync {
  discard(file);
  return create(file, seal, scratchSettings);
}

/** Makes a closed file durable, before an older one is deleted. */
export function seal(file: string): void {
  const descriptor = openSync(file, 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Prepares each statement once. */
export function createStatements(db: DatabaseSync): (sql: string) => StatementSync {
  const prepared = new Map<string, StatementSync>();
  return (sql) => {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    const statement = db.prepare(sql);
    prepared.set(sql, statement);
    return statement;
  };
}

/** All or nothing. */
export function inTransaction(db: DatabaseSync, work: () => void): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    work();
    db.exec('COMMIT');
  } catch (error) {
    // Some errors, such as "disk full", have rolled back already.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}
