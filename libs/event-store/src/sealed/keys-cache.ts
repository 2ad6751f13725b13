import type { DatabaseSync } from 'node:sqlite';
import { createLruMap } from '@countersign/runtime';
import type { LruMap } from '@countersign/runtime';
import type { SubjectKey } from './subject-keys.js';

const keysKept = 4096;

/** The keys that were read last. Other processes may change the file: `follow` comes before each look. */
export interface KeysCache {
  readonly byId: LruMap<SubjectKey & { readonly isErasing: boolean }>;
  /** By tenant and subject. */
  readonly current: LruMap<SubjectKey>;
  /** Forgets everything when another process has changed the file. */
  readonly follow: () => void;
  readonly clear: () => void;
  /** The number of keys that were ever made. */
  readonly keysMade: () => number;
  readonly addMade: (made: number) => void;
}

/** A cache over an opened `keys.db`. */
export function createKeysCache(database: DatabaseSync): KeysCache {
  const byId = createLruMap<SubjectKey & { readonly isErasing: boolean }>(keysKept);
  const current = createLruMap<SubjectKey>(keysKept);
  // It changes with every commit of another connection, and costs a microsecond to read.
  const version = database.prepare('PRAGMA data_version');
  const count = database.prepare('SELECT count(*) AS made FROM keys');
  const countMade = (): number => Number(count.get()?.['made']);
  let seen = version.get()?.['data_version'];
  let keysMade = countMade();
  const clear = (): void => {
    byId.clear();
    current.clear();
  };
  const follow = (): void => {
    const now = version.get()?.['data_version'];
    if (now === seen) return;
    seen = now;
    keysMade = countMade();
    clear();
  };
  return {
    byId,
    current,
    follow,
    clear,
    keysMade: () => {
      follow();
      return keysMade;
    },
    addMade: (made) => {
      keysMade += made;
    },
  };
}
