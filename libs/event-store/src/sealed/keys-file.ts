import { createSecretKey, hash } from 'node:crypto';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { join } from 'node:path';
import { createLruMap, crashPoint, keepPrivate, openDatabaseFile } from '@countersign/runtime';
import type { Log } from '@countersign/runtime';
import { closeBox, openBox } from './box.js';
import { createKeyMaker } from './key-maker.js';
import { hasRootKey, isOpenToOthers, makeRootKey, readRootKey, RootKeyError } from './root-key.js';
import type { RootKey } from './root-key.js';
import { answersOwner } from './subject-keys.js';
import type { SubjectKey, SubjectKeys } from './subject-keys.js';

/** The dependencies of the keys in a data folder. */
export interface SubjectKeysOptions {
  readonly folder: string;
  /** The operator's own root key; null: `root.key` in the data folder, made at the first start. */
  readonly rootKeyFile: string | null;
  readonly log: Log;
}

const keysKept = 4096;

const tables = `
  CREATE TABLE IF NOT EXISTS root (id INTEGER PRIMARY KEY CHECK (id = 1), fingerprint TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY, subject TEXT NOT NULL, wrapped BLOB,
    state TEXT NOT NULL CHECK (state IN ('current', 'retired', 'erasing', 'destroyed'))
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX IF NOT EXISTS keys_current ON keys (subject) WHERE state = 'current';
  CREATE INDEX IF NOT EXISTS keys_by_subject ON keys (subject);
`;

/**
 * The keys of subjects in `keys.db`, each wrapped by the root key. A key that was destroyed leaves its id and nothing
 * else: SQLite overwrites it, and its write-ahead log is emptied.
 * @throws RootKeyError when the root key is missing or another one; DatabaseFileError when the file is damaged.
 */
export function openSubjectKeys({ folder, rootKeyFile, log }: SubjectKeysOptions): SubjectKeys {
  const file = join(folder, 'keys.db');
  const cost = 'Without its keys the sensitive values of the log can never be read again';
  const database = openDatabaseFile(file, { cost, timeoutMs: 2000 }, (opened) => {
    opened.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; ${tables}`);
    // A process that ended while it destroyed a key may have left its bytes here.
    opened.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  });
  try {
    return createKeys(database, openRoot(database, rootKeyFile ?? join(folder, 'root.key'), rootKeyFile !== null, log));
  } catch (error) {
    database.close();
    throw error;
  }
}

interface OpenedRoot {
  readonly root: RootKey;
  readonly isNew: boolean;
}

function openRoot(database: DatabaseSync, file: string, isOwn: boolean, log: Log): OpenedRoot {
  const known = database.prepare('SELECT fingerprint FROM root').get()?.['fingerprint'];
  if (!hasRootKey(file)) {
    if (isOwn || known !== undefined) throw missingRoot(file, known !== undefined);
    makeRootKey(file);
    log.info(
      { file },
      'a root key was made for sensitive values; keep a copy of it apart from the backups of the data',
    );
  }
  if (!isOwn) keepPrivate(file);
  else if (isOpenToOthers(file)) log.warn({ file }, 'every user of this machine can read the root key: chmod 600');
  const root = readRootKey(file);
  if (known !== undefined && known !== root.fingerprint) throw anotherRoot(file);
  return { root, isNew: known === undefined };
}

function missingRoot(file: string, isKnown: boolean): RootKeyError {
  return new RootKeyError(
    isKnown
      ? `the root key ${file} is missing, and keys.db was made with it: restore the file from your copy. Without it the sensitive values of the log cannot be read`
      : `COUNTERSIGN_ROOT_KEY_FILE: file not found: ${file}. Make one with: openssl rand -base64 32 > ${file}`,
  );
}

function anotherRoot(file: string): RootKeyError {
  return new RootKeyError(
    `${file} is not the root key that keys.db was made with: restore that key from your copy. Without it the sensitive values of the log cannot be read`,
  );
}

/** The keys over an opened database. */
function createKeys(database: DatabaseSync, { root, isNew }: OpenedRoot): SubjectKeys {
  const byId = createLruMap<SubjectKey & { readonly isErasing: boolean }>(keysKept);
  const currentKeys = createLruMap<SubjectKey>(keysKept);
  const making = new Map<string, Promise<SubjectKey>>();
  const find = database.prepare('SELECT subject, wrapped, state FROM keys WHERE id = ?');
  const findCurrent = database.prepare("SELECT id FROM keys WHERE subject = ? AND state = 'current'");
  const findLive = database.prepare(
    "SELECT id FROM keys WHERE subject = ? AND state IN ('current', 'retired', 'erasing')",
  );
  const insert = database.prepare("INSERT INTO keys VALUES (?, ?, ?, 'current')");
  const hashOf = (tenant: string, subject: string): string => root.hashOf(JSON.stringify([tenant, subject]));

  const idsOf = (tenant: string, subject: string): readonly string[] => idsIn(findLive.all(hashOf(tenant, subject)));
  const stateOf = (id: string, isCopy: boolean): SubjectKey | 'erased' | 'missing' => {
    const known = byId.get(id);
    if (known !== undefined && (isCopy || !known.isErasing)) return known;
    const row = find.get(id);
    if (row === undefined) return 'missing';
    const isErasing = row['state'] === 'erasing';
    if (row['state'] === 'destroyed' || (isErasing && !isCopy)) return 'erased';
    const opened = { id, key: unwrapped(root, id, row), isErasing };
    byId.set(id, opened);
    return opened;
  };
  const change = (ids: readonly string[], sql: string): void => {
    const statement = database.prepare(sql);
    transaction(database, () => {
      for (const id of ids) statement.run(id);
    });
    byId.clear();
    currentKeys.clear();
  };
  let keysMade = Number(database.prepare('SELECT count(*) AS made FROM keys').get()?.['made']);
  const make = createKeyMaker((made) => {
    transaction(database, () => {
      for (const { id, subject, bytes } of made)
        insert.run(id, subject, closeBox(root.wrapping, boundTo(id, subject), bytes));
    });
    keysMade += made.length;
  });

  return {
    isNew,
    confirm: () => {
      database.prepare('INSERT OR IGNORE INTO root VALUES (1, ?)').run(root.fingerprint);
    },
    hashOf,
    current: (tenant, subject) => {
      const name = JSON.stringify([tenant, subject]);
      const known = currentKeys.get(name);
      if (known !== undefined) return known;
      const hash = hashOf(tenant, subject);
      const id = findCurrent.get(hash)?.['id'];
      const found = typeof id === 'string' ? stateOf(id, false) : undefined;
      if (typeof found === 'object') {
        currentKeys.set(name, found);
        return found;
      }
      const running = making.get(hash) ?? make(hash).finally(() => making.delete(hash));
      making.set(hash, running);
      return running;
    },
    find: (id) => {
      const state = stateOf(id, false);
      return typeof state === 'object' ? state.key : state;
    },
    findForCopies: (id) => {
      const state = stateOf(id, true);
      return typeof state === 'object' ? state.key : undefined;
    },
    idsOf,
    retire: (tenant, subject) => {
      const ids = idsOf(tenant, subject);
      change(ids, "UPDATE keys SET state = 'retired' WHERE id = ?");
      return ids;
    },
    beginErasing: (ids) => {
      change(ids, "UPDATE keys SET state = 'erasing' WHERE id = ?");
    },
    keep: (ids) => {
      change(ids, "UPDATE keys SET state = 'retired' WHERE id = ? AND state = 'erasing'");
    },
    destroy: (ids) => {
      change(ids, "UPDATE keys SET state = 'destroyed', wrapped = NULL WHERE id = ?");
      crashPoint('erase.before-checkpoint');
      // The bytes of a deleted key stay in the write-ahead log until it is emptied.
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    },
    erasing: () => idsIn(database.prepare("SELECT id FROM keys WHERE state = 'erasing'").all()),
    keysMade: () => keysMade,
    erasedKeys: () => {
      const sql = "SELECT id FROM keys WHERE state IN ('erasing', 'destroyed') AND subject <> ? ORDER BY id";
      return hash('sha256', idsIn(database.prepare(sql).all(hashOf(...answersOwner))).join());
    },
    close: () => {
      if (database.isOpen) database.close();
    },
  };
}

function idsIn(rows: readonly Readonly<Record<string, SQLOutputValue>>[]): readonly string[] {
  return rows.map(({ id }) => String(id));
}

function unwrapped(root: RootKey, id: string, row: Readonly<Record<string, SQLOutputValue>>) {
  return createSecretKey(openBox(root.wrapping, boundTo(id, String(row['subject'])), row['wrapped'] as Uint8Array));
}

/** A wrapped key opens only as the key of its own row. */
function boundTo(id: string, subject: string): string {
  return JSON.stringify(['key', id, subject]);
}

function transaction(database: DatabaseSync, work: () => void): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    work();
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}
