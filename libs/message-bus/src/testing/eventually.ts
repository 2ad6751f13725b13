import { setTimeout } from 'node:timers/promises';

/** Repeats a check until it no longer throws; after `withinMs` it throws the last error. */
export async function eventually(check: () => void | Promise<void>, withinMs = 100_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await setTimeout(5);
    }
  }
}
