import type { DatabaseSync } from 'node:sqlite';
import { createLruMap } from '@countersign/runtime';
import type { LruMap } from '@countersign/runtime';
import type { SubjectKey } from './subject-keys.js';

const keysKept = 4096;

/** The keys that were read last. One process opens the file: it has locked the folder. */
export interface KeysCache {
  readonly byId: LruMap<SubjectKey & { readonly isErasing: boolean }>;
  /** By tenant and subject. */
  readonly current: LruMap<SubjectKey>;
  readonly clear: () => void;
  /** The number of keys that were ever made. */
  readonly keysMade: () => number;
  readonly addMade: (made: number) => void;
}

/** A cache over an opened `keys.db`. */
export function createKeysCache(database: DatabaseSync): KeysCache {
  const byId = createLruMap<SubjectKey & { readonly isErasing: boolean }>(keysKept);
  const current = createLruMap<SubjectKey>(keysKept);
  let keysMade = Number(database.prepare('SELECT count(*) AS made FROM keys').get()?.['made']);
  return {
    byId,
    current,
    clear: () => {
      byId.clear();
      current.clear();
    },
    keysMade: () => keysMade,
    addMade: (made) => {
      keysMade += made;
    },
  };
}
