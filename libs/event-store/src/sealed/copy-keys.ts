import { createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { transaction, unwrapKey, wrapKey } from './keys-database.js';
import type { RootKey } from './root-key.js';
import type { SubjectKey } from './subject-keys.js';

/** One key for the copies of each process, such as its read model. Every erasure replaces it. */
export interface CopyKeys {
  /** The key for copies without the values that read as erased now. It takes the place of the one before. */
  readonly copyKey: (owner: string) => SubjectKey;
  /** Forgets the keys that were made before the last erasure. `destroy` then empties the log of the file. */
  readonly forgetOldCopies: () => void;
}

/** The keys of copies in an opened `keys.db`. `erasedKeys` differs after each erasure. */
export function createCopyKeys(database: DatabaseSync, root: RootKey, erasedKeys: () => string): CopyKeys {
  const find = database.prepare('SELECT id, wrapped FROM copies WHERE owner = ? AND erased = ?');
  const save = database.prepare('INSERT OR REPLACE INTO copies VALUES (?, ?, ?, ?)');
  const forget = database.prepare('DELETE FROM copies WHERE erased <> ?');
  const boundTo = (owner: string, id: string) => ({ id, subject: `copies:${owner}` });
  return {
    copyKey: (owner) =>
      transaction(database, () => {
        const erased = erasedKeys();
        const row = find.get(owner, erased);
        if (row !== undefined) {
          const id = String(row['id']);
          return { id, key: createSecretKey(unwrapKey(root, boundTo(owner, id), row['wrapped'] as Uint8Array)) };
        }
        const [id, bytes] = [randomUUID(), randomBytes(32)];
        save.run(owner, id, wrapKey(root, boundTo(owner, id), bytes), erased);
        return { id, key: createSecretKey(bytes) };
      }),
    forgetOldCopies: () => void forget.run(erasedKeys()),
  };
}
