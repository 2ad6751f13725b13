import { setImmediate } from 'node:timers/promises';

const workMsMax = 10;

/**
 * Returns a function that parts of a long work ask before each piece. It returns a promise after 10 ms of work: awaiting it
 * lets the process answer other requests. All parts that ask in the same moment share it.
 */
export function createBreather(monotonic: () => number): () => Promise<void> | undefined {
  let since = monotonic();
  let breathing: Promise<void> | undefined;
  return () => {
    if (breathing !== undefined) return breathing;
    if (monotonic() - since < workMsMax) return undefined;
    breathing = setImmediate().then(() => {
      since = monotonic();
      breathing = undefined;
    });
    return breathing;
  };
}
