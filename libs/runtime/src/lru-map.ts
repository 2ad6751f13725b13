/** A map that forgets what was not used for long. */
export interface LruMap<Value> {
  /** Also marks the key as recently used. */
  readonly get: (key: string) => Value | undefined;
  /** Also marks the key as recently used. */
  readonly set: (key: string, value: Value) => void;
  readonly delete: (key: string) => void;
  readonly clear: () => void;
}

/** A second limit: the kept values together weigh at most about `max`. */
export interface WeightBound<Value> {
  readonly of: (value: Value) => number;
  readonly max: number;
}

/**
 * Keeps about `size` keys, from three quarters of it to three halves, in two generations: the old generation is dropped
 * as a whole, so neither a use nor an eviction has to reorder or scan keys.
 */
export function createLruMap<Value>(size: number, weight?: WeightBound<Value>): LruMap<Value> {
  const generationMax = Math.ceil(size * 0.75);
  const weigh = (value: Value | undefined): number =>
    weight === undefined || value === undefined ? 0 : weight.of(value);
  const weightMax = (weight?.max ?? 0) / 2;
  let young = new Map<string, Value>();
  let old = new Map<string, Value>();
  let youngWeight = 0;

  const set = (key: string, value: Value): void => {
    if (weight !== undefined) youngWeight += weigh(value) - weigh(young.get(key));
    young.set(key, value);
    if (young.size <= generationMax && youngWeight <= weightMax) return;
    old = young;
    young = new Map();
    youngWeight = 0;
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
      youngWeight -= weigh(young.get(key));
      young.delete(key);
      old.delete(key);
    },
    clear: () => {
      young.clear();
      youngWeight = 0;
      old.clear();
    },
  };
}
