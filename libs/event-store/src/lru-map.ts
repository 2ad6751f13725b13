/** A map that keeps what was set last. */
export interface LruMap<Value> {
  readonly get: (key: string) => Value | undefined;
  /** Also makes the key the youngest. */
  readonly set: (key: string, value: Value) => void;
  readonly delete: (key: string) => void;
  readonly clear: () => void;
}

/** Keeps at least the last `size` keys, and an eighth more at most. */
export function createLruMap<Value>(size: number): LruMap<Value> {
  // A map remembers the order of setting: deleted and set again, a key is the youngest.
  const map = new Map<string, Value>();
  const surplus = Math.ceil(size / 8);

  // Many go at once: finding the oldest steps over all that was deleted before it, each time.
  const evict = (): void => {
    let left = surplus;
    for (const key of map.keys()) {
      map.delete(key);
      left -= 1;
      if (left === 0) return;
    }
  };
  return {
    get: (key) => map.get(key),
    set: (key, value) => {
      map.delete(key);
      map.set(key, value);
      if (map.size > size + surplus) evict();
    },
    delete: (key) => void map.delete(key),
    clear: () => {
      map.clear();
    },
  };
}
