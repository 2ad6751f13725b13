import { createHmac, createSecretKey, hash } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { createLruMap, crashPoint } from '@countersign/runtime';
import { createKeyMaker } from './key-maker.js';
import { emptyWal, hashingKey, openKeysDatabase, transaction, unwrapKey, wrapKey } from './keys-database.js';
import { openRoot } from './root-file.js';
import type { OpenedRoot, RootPlace } from './root-file.js';
import type { RootKey } from './root-key.js';
import { answersOwner } from './subject-keys.js';
import type { SubjectKey, SubjectKeys } from './subject-keys.js';

const keysKept = 4096;

/**
 * The keys of subjects in `keys.db`, each wrapped by the root key. A key that was destroyed leaves its id and nothing
 * else: SQLite overwrites it, and its write-ahead log is emptied.
 * @throws RootKeyError when the root key is missing or another one; DatabaseFileError when the file is damaged.
 */
export function openSubjectKeys(place: RootPlace): SubjectKeys {
  const database = openKeysDatabase(place.folder);
  try {
    return createKeys(database, openRoot(database, place));
  } catch (error) {
    database.close();
    throw error;
  }
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
  const hashing = hashingKey(database, root);
  const hashOf = (tenant: string, subject: string): string =>
    createHmac('sha256', hashing)
      .update(JSON.stringify([tenant, subject]))
      .digest('hex');

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
      for (const { bytes, ...name } of made) insert.run(name.id, name.subject, wrapKey(root, name, bytes));
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
      emptyWal(database);
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

function unwrapped(root: RootKey, id: string, row: Readonly<Record<string, SQLOutputValue>>): KeyObject {
  return createSecretKey(unwrapKey(root, { id, subject: String(row['subject']) }, row['wrapped'] as Uint8Array));
}
