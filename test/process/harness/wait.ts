import { setTimeout as sleep } from 'node:timers/promises';

/** After the first second the pauses grow, because each check costs CPU time. */
const patientMs = 100;

/** Repeats a read until its result is not undefined. @throws Error naming the expectation, after `withinMs`. */
export async function eventually<T>(
  what: string,
  ask: () => T | undefined | Promise<T | undefined>,
  everyMs = 10,
  // Far from what anything needs: a busy machine must not end a wait.
  withinMs = 150_000,
): Promise<T> {
  const startedAt = performance.now();
  const giveUpAt = startedAt + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > giveUpAt) throw new Error(`waited ${withinMs} ms in vain for ${what}`);
    await sleep(performance.now() - startedAt < 1000 ? everyMs : Math.max(everyMs, patientMs));
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
