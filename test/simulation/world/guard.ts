import { AsyncLocalStorage } from 'node:async_hooks';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import timersOfPromises from 'node:timers/promises';

/** The simulated code reached for a time, a timer or a chance that the seed does not decide. */
export class NotFromTheSeedError extends Error {
  override readonly name = 'NotFromTheSeedError';
}

const refuse = (what: string) => (): never => {
  throw new NotFromTheSeedError(`${what} is not decided by the seed: take the clock or the ids that are given`);
};

const nestStarts = new AsyncLocalStorage<true>();

/**
 * Builds a Nest application in a world. Nest names its modules by chance and times its own start; neither decides
 * anything. Work that begins later, such as a handler, has no chance and no time again.
 */
export function buildWithNest<T>(build: () => Promise<T>): Promise<T> {
  return nestStarts.run(true, build);
}

const forNestAlone = (what: string, real: () => number): (() => number) => {
  const no = refuse(what);
  return () => (nestStarts.getStore() === true ? real() : no());
};

/** A `Date` without the present time. */
class DateWithoutNow extends Date {
  constructor(...given: [] | [number | string | Date]) {
    if (given[0] === undefined) refuse('new Date()')();
    super(given[0] as number);
  }

  static override now = refuse('Date.now');
}

const places: readonly (readonly [object, readonly string[]])[] = [
  [globalThis, ['setTimeout', 'setInterval']],
  [timers, ['setTimeout', 'setInterval']],
  [timersOfPromises, ['setTimeout', 'setInterval']],
  [crypto, ['randomBytes', 'randomUUID', 'randomInt', 'randomFillSync']],
  [globalThis.crypto, ['randomUUID', 'getRandomValues']],
];

/** Makes the real clock, real timers and real chance throw while `work` runs: a world has none but its own. */
export async function withoutRealTimeAndChance<T>(work: () => Promise<T>): Promise<T> {
  const restore: (() => void)[] = [];
  const put = (place: object, name: string, value: unknown): void => {
    const before = Object.getOwnPropertyDescriptor(place, name);
    Object.defineProperty(place, name, { value, configurable: true, writable: true });
    restore.push(() => {
      if (before === undefined) Reflect.deleteProperty(place, name);
      else Object.defineProperty(place, name, before);
    });
  };
  for (const [place, names] of places) for (const name of names) put(place, name, refuse(name));
  put(Math, 'random', forNestAlone('Math.random', Math.random));
  put(performance, 'now', forNestAlone('performance.now', performance.now.bind(performance)));
  put(globalThis, 'Date', DateWithoutNow);
  syncBuiltinESMExports();
  try {
    return await work();
  } finally {
    for (const one of restore) one();
    syncBuiltinESMExports();
  }
}
