/** Chance out of a seed. */
export interface Random {
  /** A whole number from `min` to `max`, both included. */
  readonly int: (min: number, max: number) => number;
  readonly pick: <T>(items: readonly T[]) => T;
  readonly chance: (probability: number) => boolean;
  /** Another stream of chance, so that concurrent users do not depend on each other's pace. */
  readonly fork: () => Random;
}

/** Mulberry32: small, fast, and the same on every machine. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const int = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    int,
    pick: (items) => {
      const item = items[int(0, items.length - 1)];
      if (item === undefined) throw new RangeError('nothing to pick from');
      return item;
    },
    chance: (probability) => next() < probability,
    fork: () => createRandom(int(0, 0xffff_ffff)),
  };
}

/** The seed of this run: `COUNTERSIGN_TEST_SEED`, or a new one. It is printed, so that a failure can be repeated. */
export function seedOfRun(): number {
  const given = process.env['COUNTERSIGN_TEST_SEED'];
  const seed = given === undefined || given === '' ? Date.now() % 4_294_967_296 : Number(given);
  process.stdout.write(`COUNTERSIGN_TEST_SEED=${seed}\n`);
  return seed;
}
