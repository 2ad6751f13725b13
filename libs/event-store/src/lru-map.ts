/** A map that forgets what was not used for long. */
export interface LruMap<Value> {
  /** Also makes the key a young one. */
  readonly get: (key: string) => Value | undefined;
  /** Also makes the key a young one. */
  readonly set: (key: string, value: Value) => void;
  readonly delete: (key: string) => void;
  readonly clear: () => void;
}

/**
 * Keeps about `size` keys, from three quarters of it to three halves, in two generations: the old one goes as a whole, so
 * that a use of a young key changes no order and an eviction walks over nothing.
 */
export function createLruMap<Value>(size: number): LruMap<Value> {
  const generationMax = Math.ceil(size * 0.75);
  let young = new Map<string, Value>();
  let old = new Map<string, Value>();

  const set = (key: string, value: Value): void => {
    young.set(key, value);
    if (young.size <= generationMax) return;
    old = young;
    young = new Map();
  };
  return {
    get: (key) => {
      const found = young.get(key);
      if (found !== undefined) return found;
      const aged = old.get(key);
      if (aged !== undefined) {
        old.delete(key);
        set(key, aged);
      }
      return aged;
    },
    set: (key, value) => {
      old.delete(key);
      set(key, value);
    },
    delete: (key) => {
      young.delete(key);
      old.delete(key);
    },
    clear: () => {
      young.clear();
      old.clear();
    },
  };
}
