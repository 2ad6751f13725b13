import { hash } from 'node:crypto';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { crashPoint } from '@countersign/runtime';
import { KeysUnavailableError } from '../event-store.js';
import type { KeysCache } from './keys-cache.js';
import { emptyWal, transaction } from './keys-database.js';
import type { SubjectKeys } from './subject-keys.js';

type Changes = Pick<SubjectKeys, 'beginErasing' | 'keep' | 'destroy' | 'erasing' | 'erasedKeys'> & {
  readonly retire: (ids: readonly string[]) => void;
};

/**
 * The steps of an erasure in an opened `keys.db`. Several processes may ask the keeper for them for the same key, so none leads
 * back, except `keep`. `answers`: the hash whose keys `erasedKeys` leaves out.
 */
export function createKeyChanges(database: DatabaseSync, cache: Pick<KeysCache, 'clear'>, answers: string): Changes {
  const change = (ids: readonly string[], sql: string): void => {
    const statement = database.prepare(sql);
    transaction(database, () => {
      for (const id of ids) statement.run(id);
    });
    cache.clear();
  };
  return {
    retire: (ids) => {
      change(ids, "UPDATE keys SET state = 'retired' WHERE id = ? AND state = 'current'");
    },
    beginErasing: (ids) => {
      change(ids, "UPDATE keys SET state = 'erasing' WHERE id = ? AND state <> 'destroyed'");
    },
    keep: (ids) => {
      change(ids, "UPDATE keys SET state = 'retired' WHERE id = ? AND state = 'erasing'");
    },
    destroy: (ids) => {
      change(ids, "UPDATE keys SET state = 'destroyed', wrapped = NULL WHERE id = ?");
      crashPoint('erase.before-checkpoint');
      // The bytes of a deleted key stay in the write-ahead log until it is emptied.
      if (emptyWal(database)) return;
      throw new KeysUnavailableError(
        'keys.db is in use by another process, so its log still has the bytes of a destroyed key: erase once more',
      );
    },
    erasing: () => idsIn(database.prepare("SELECT id FROM keys WHERE state = 'erasing'").all()),
    erasedKeys: () => {
      const erased = "SELECT id FROM keys WHERE state IN ('erasing', 'destroyed') AND subject <> ?";
      const sql = `${erased} UNION ALL SELECT id FROM lost ORDER BY id`;
      return hash('sha256', idsIn(database.prepare(sql).all(answers)).join());
    },
  };
}

/** The ids of rows. */
export function idsIn(rows: readonly Readonly<Record<string, SQLOutputValue>>[]): readonly string[] {
  return rows.map(({ id }) => String(id));
}
