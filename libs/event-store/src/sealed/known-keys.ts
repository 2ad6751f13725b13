import type { DatabaseSync } from 'node:sqlite';
import type { RecordedEvent } from '@countersign/contracts';
import type { KeysCache } from './keys-cache.js';
import { transaction } from './keys-database.js';

/** The place in the log up to which every key that it names was looked for. */
export interface CheckedTo {
  readonly position: number;
  /** The event there: another log has another one. */
  readonly eventId: string;
}

/** What `keys.db` knows of the keys that the log names, apart from the keys themselves. */
export interface KnownKeys {
  /** Returns whether there is, or was, a key with this id, or its loss was accepted. */
  readonly isKnown: (id: string) => boolean;
  /** The log has the proof that these keys were erased. Those that an older `keys.db` never had read as erased too. */
  readonly markErased: (ids: readonly string[]) => void;
  /** The operator accepts that these keys are lost. */
  readonly acceptLoss: (ids: readonly string[]) => void;
  /** The number of keys whose loss was accepted. */
  readonly lost: () => number;
  readonly checkedTo: () => CheckedTo | undefined;
  readonly setCheckedTo: (last: Pick<RecordedEvent, 'position' | 'eventId'>) => void;
}

/** The knowledge in an opened `keys.db`. */
export function createKnownKeys(database: DatabaseSync, cache: Pick<KeysCache, 'addMade'>): KnownKeys {
  const find = database.prepare(
    'SELECT EXISTS (SELECT 1 FROM keys WHERE id = ?1) OR EXISTS (SELECT 1 FROM lost WHERE id = ?1) AS known',
  );
  const markErased = database.prepare("INSERT OR IGNORE INTO keys VALUES (?, '', NULL, 'destroyed')");
  const acceptLoss = database.prepare('INSERT OR IGNORE INTO lost VALUES (?)');
  const count = database.prepare('SELECT count(*) AS lost FROM lost');
  const checked = database.prepare('SELECT position, event FROM checked');
  const setChecked = database.prepare('INSERT OR REPLACE INTO checked VALUES (1, ?, ?)');
  return {
    isKnown: (id) => find.get(id)?.['known'] === 1,
    markErased: (ids) => {
      const marked = transaction(database, () => ids.reduce((sum, id) => sum + Number(markErased.run(id).changes), 0));
      cache.addMade(marked);
    },
    acceptLoss: (ids) => {
      transaction(database, () => {
        for (const id of ids) acceptLoss.run(id);
      });
    },
    lost: () => Number(count.get()?.['lost']),
    checkedTo: () => {
      const row = checked.get();
      return row === undefined ? undefined : { position: Number(row['position']), eventId: String(row['event']) };
    },
    setCheckedTo: ({ position, eventId }) => void setChecked.run(position, eventId),
  };
}
