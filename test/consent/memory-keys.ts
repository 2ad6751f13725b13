import { createSecretKey, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { StoreKeys, SubjectKey } from '@countersign/event-store';

/** The keys of hidden values, in memory. */
export interface MemoryKeys extends StoreKeys {
  /** Destroys the keys of these subjects: their values read as erased. */
  readonly erase: (isMeant: (subject: string) => boolean) => void;
}

export function createMemoryKeys(): MemoryKeys {
  const keys = new Map<string, KeyObject | 'erased'>();
  const current = new Map<string, SubjectKey>();
  return {
    current: (_, subject) => {
      const known = current.get(subject) ?? { id: `key-${String(keys.size)}`, key: createSecretKey(randomBytes(32)) };
      current.set(subject, known);
      keys.set(known.id, known.key);
      return known;
    },
    load: () => (id) => keys.get(id) ?? 'missing',
    erase: (isMeant) => {
      for (const [subject, { id }] of current) {
        if (!isMeant(subject)) continue;
        current.delete(subject);
        keys.set(id, 'erased');
      }
    },
  };
}
