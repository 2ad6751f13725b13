import { createHmac, createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { createCopyKeys } from './copy-keys.js';
import type { CopyKeys } from './copy-keys.js';
import { createKeyChanges, idsIn } from './key-changes.js';
import { createKeyMaker } from './key-maker.js';
import { createKnownKeys } from './known-keys.js';
import type { KnownKeys } from './known-keys.js';
import { createKeysCache } from './keys-cache.js';
import { hashingKey, openKeysDatabase, transaction, unwrapKey, wrapKey } from './keys-database.js';
import { openRoot } from './root-file.js';
import type { OpenedRoot, RootPlace } from './root-file.js';
import type { RootKey } from './root-key.js';
import { requestsOwner } from './subject-keys.js';
import type { FindKey, SubjectKey, SubjectKeys } from './subject-keys.js';

/** The keys in a file, those of copies among them. */
export interface FileKeys extends SubjectKeys, CopyKeys, KnownKeys {
  /** Recognises the root key, and tells nothing about it. */
  readonly rootFingerprint: string;
}

/**
 * The keys of subjects in `keys.db`, each wrapped by the root key. A key that was destroyed leaves its id and nothing
 * else: SQLite overwrites it, and its write-ahead log is emptied.
 * @throws RootKeyError when the root key is missing or another one; DatabaseFileError when the file is damaged.
 */
export function openSubjectKeys(place: RootPlace): FileKeys {
  const database = openKeysDatabase(place.folder);
  try {
    return createKeys(database, openRoot(database, place));
  } catch (error) {
    database.close();
    throw error;
  }
}

/** The keys over an opened database. */
function createKeys(database: DatabaseSync, { root, isNew }: OpenedRoot): FileKeys {
  const cache = createKeysCache(database);
  const making = new Map<string, Promise<SubjectKey>>();
  const findRow = database.prepare('SELECT subject, wrapped, state FROM keys WHERE id = ?');
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
    const known = cache.byId.get(id);
    if (known !== undefined && (isCopy || !known.isErasing)) return known;
    const row = findRow.get(id);
    if (row === undefined) return 'missing';
    const isErasing = row['state'] === 'erasing';
    if (row['state'] === 'destroyed' || (isErasing && !isCopy)) return 'erased';
    const opened = { id, key: unwrapped(root, id, row), isErasing };
    cache.byId.set(id, opened);
    return opened;
  };
  const find: FindKey = (id) => {
    const state = stateOf(id, false);
    return typeof state === 'object' ? state.key : state;
  };
  const save = createKeyMaker((made) => {
    transaction(database, () => {
      for (const { bytes, ...name } of made) insert.run(name.id, name.subject, wrapKey(root, name, bytes));
    });
    cache.addMade(made.length);
  });
  const currentOf = (hash: string): SubjectKey | undefined => {
    const id = findCurrent.get(hash)?.['id'];
    const found = typeof id === 'string' ? stateOf(id, false) : undefined;
    return typeof found === 'object' ? found : undefined;
  };
  const make = async (hash: string): Promise<SubjectKey> => {
    await save(hash);
    // An erasure may have retired the key at the moment when it was made.
    return currentOf(hash) ?? make(hash);
  };

  const { retire, ...changes } = createKeyChanges(database, cache, hashOf(...requestsOwner));
  return {
    isNew,
    rootFingerprint: root.fingerprint,
    confirm: () => {
      database.prepare('INSERT OR IGNORE INTO root VALUES (1, ?)').run(root.fingerprint);
    },
    hashOf,
    current: (tenant, subject) => {
      const name = JSON.stringify([tenant, subject]);
      const known = cache.current.get(name);
      if (known !== undefined) return known;
      const hash = hashOf(tenant, subject);
      const found = currentOf(hash);
      if (found !== undefined) {
        cache.current.set(name, found);
        return found;
      }
      const running = making.get(hash) ?? make(hash).finally(() => making.delete(hash));
      making.set(hash, running);
      return running;
    },
    find,
    load: () => find,
    findForCopies: (id) => {
      const state = stateOf(id, true);
      return typeof state === 'object' ? state.key : undefined;
    },
    idsOf,
    retire: (tenant, subject) => {
      const ids = idsOf(tenant, subject);
      retire(ids);
      return ids;
    },
    ...changes,
    ...createKnownKeys(database, cache),
    ...createCopyKeys(database, root, changes.erasedKeys),
    keysMade: cache.keysMade,
    close: () => {
      if (database.isOpen) database.close();
    },
  };
}

function unwrapped(
  root: RootKey,
  id: string,
  { subject, wrapped }: Readonly<Record<string, SQLOutputValue>>,
): KeyObject {
  return createSecretKey(unwrapKey(root, { id, subject: String(subject) }, wrapped as Uint8Array));
}
