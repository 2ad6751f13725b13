import { formatUuid } from './ids.js';
import type { Ids } from './ids.js';

/** A seeded random source: the same seed gives the same run. Not for secrets. */
export interface Random {
  /** 0 ≤ x < 1. */
  readonly next: () => number;
  /** An integer, 0 ≤ n < `limit`. */
  readonly below: (limit: number) => number;
  readonly chance: (probability: number) => boolean;
  /** Returns one of the items. @throws RangeError when there are none. */
  readonly pick: <T>(items: readonly T[]) => T;
  readonly bytes: (count: number) => Uint8Array;
}

/** The generator sfc32, started from a 32-bit seed. */
export function createRandom(seed: number): Random {
  let [a, b, c, counter] = [0, seed | 0, 0x9e3779b9 | 0, 1];
  const next32 = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  // Neighbouring seeds give unrelated runs only after some rounds.
  for (let round = 0; round < 15; round += 1) next32();
  const next = (): number => next32() / 2 ** 32;
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (items) => {
      if (items.length === 0) throw new RangeError('nothing to pick from');
      return items[below(items.length)] as (typeof items)[number];
    },
    bytes: (count) => Uint8Array.from({ length: count }, () => next32() & 0xff),
  };
}

/** Ids from a seeded source, for tests and simulations. */
export function createSeededIds(random: Random): Ids {
  return { uuid: () => formatUuid(random.bytes(16), 4), randomBytes: random.bytes };
}
