import { setImmediate } from 'node:timers/promises';

/** After so much work in one go, others run. */
export const workMsMax = 2;
/** A process accepts one connection per turn of its event loop. An idle turn takes microseconds. */
export const turnsOfOthers = 10;

/**
 * Returns a function that parts of a long work ask before each piece. After 2 ms of work it returns a promise: awaiting it
 * gives other requests and new connections ten turns of the event loop. All parts that ask in the same moment share it.
 */
export function createBreather(monotonic: () => number): () => Promise<void> | undefined {
  let since = monotonic();
  let breathing: Promise<void> | undefined;
  const breathe = async (): Promise<void> => {
    for (let turn = 0; turn < turnsOfOthers; turn += 1) await setImmediate();
    since = monotonic();
    breathing = undefined;
  };
  return () => {
    if (breathing === undefined && monotonic() - since >= workMsMax) breathing = breathe();
    return breathing;
  };
}
