import { setTimeout as sleep } from 'node:timers/promises';

/** Asks until the answer is not undefined. @throws Error saying what was waited for, after `withinMs`. */
export async function eventually<T>(
  what: string,
  withinMs: number,
  ask: () => T | undefined | Promise<T | undefined>,
  everyMs = 10,
): Promise<T> {
  const giveUpAt = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > giveUpAt) throw new Error(`waited ${withinMs} ms in vain for ${what}`);
    await sleep(everyMs);
  }
}

/** The promise's value, or `undefined` when it takes longer. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  const timer = new AbortController();
  try {
    return await Promise.race([promise, sleep(ms, undefined, { signal: timer.signal })]);
  } finally {
    timer.abort();
  }
}
