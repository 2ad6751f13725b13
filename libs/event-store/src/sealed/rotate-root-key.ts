import { rmSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { crashPoint } from '@countersign/runtime';
import { lockFolder } from '../embedded/folder-lock.js';
import {
  emptyWal,
  hashingKey,
  openKeysDatabase,
  saveHashingKey,
  transaction,
  unwrapKey,
  wrapKey,
} from './keys-database.js';
import { completeRotation, fingerprintIn, nextFile, openRoot } from './root-file.js';
import type { RootPlace } from './root-file.js';
import { makeRootKey, readRootKey, RootKeyError } from './root-key.js';
import type { RootKey } from './root-key.js';

/** The result of a rotation. */
export interface Rotation {
  /** `unchanged`: `keys.db` is wrapped with this root key already. */
  readonly status: 'rotated' | 'unchanged';
  /** The file of the root key from now on. */
  readonly file: string;
  /** How many keys were wrapped again. */
  readonly keys: number;
}

/**
 * Wraps all keys of a data folder with a new root key. After that the old one opens nothing in the folder. No process may
 * use the folder meanwhile. After a crash at any moment the folder opens with the old root key or with the new one, and
 * the rotation can be repeated.
 * @param to the new root key, a file of the operator; null: one is made, and takes the place of `root.key`.
 * @throws RootKeyError when a root key cannot be used; EventStoreUnavailableError when a process uses the folder.
 */
export function rotateRootKey(place: RootPlace, to: string | null): Rotation {
  if (to === null && place.rootKeyFile !== null) {
    throw new RootKeyError(
      `${place.rootKeyFile} is a root key of your own, which is never replaced: make another one with openssl rand -base64 32, and name its file`,
    );
  }
  const lock = lockFolder(place.folder);
  try {
    const database = openKeysDatabase(place.folder);
    try {
      return rotate(database, place, to);
    } finally {
      database.close();
    }
  } finally {
    lock.release();
  }
}

function rotate(database: DatabaseSync, place: RootPlace, to: string | null): Rotation {
  const known = fingerprintIn(database);
  if (known === undefined) throw new RootKeyError('keys.db has no root key yet: start the server once');
  if (to !== null && readRootKey(to).fingerprint === known) return { status: 'unchanged', file: to, keys: 0 };
  const { file, root } = openRoot(database, place);
  const next = to ?? nextFile(file);
  if (to === null) {
    // Left by a rotation that was cut short: nothing in this keys.db is wrapped with it.
    rmSync(next, { force: true });
    makeRootKey(next);
  }
  crashPoint('rotate.made');
  const keys = wrapAgain(database, root, readRootKey(next));
  crashPoint('rotate.committed');
  emptyWal(database);
  if (to === null) completeRotation(file, fingerprintIn(database));
  return { status: 'rotated', file: to ?? file, keys };
}

/** One transaction: every key is wrapped by the old root key, or every key by the new one. */
function wrapAgain(database: DatabaseSync, old: RootKey, next: RootKey): number {
  const rows = database.prepare('SELECT id, subject, wrapped FROM keys WHERE wrapped IS NOT NULL').all();
  const update = database.prepare('UPDATE keys SET wrapped = ? WHERE id = ?');
  return transaction(database, () => {
    for (const row of rows) {
      const name = { id: String(row['id']), subject: String(row['subject']) };
      update.run(wrapKey(next, name, unwrapKey(old, name, row['wrapped'] as Uint8Array)), name.id);
    }
    // Copies are built again under keys of the new one.
    database.exec('DELETE FROM copies');
    saveHashingKey(database, next, hashingKey(database, old));
    database.prepare('UPDATE root SET fingerprint = ?').run(next.fingerprint);
    crashPoint('rotate.before-commit');
    return rows.length;
  });
}
