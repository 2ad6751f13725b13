import type { Clock } from '@countersign/runtime';

/** A projection that shows the log up to a position, and can be waited for. */
export interface Reachable {
  /** Rejects when the signal aborts first. */
  readonly reached: (position: number, signal?: AbortSignal) => Promise<void>;
}

/** Resolves to whether the read model reaches a position of the log within `msMax`. */
export function reachedWithin(views: Reachable, clock: Clock, position: number, msMax: number): Promise<boolean> {
  return new Promise((resolve) => {
    const tooLong = new AbortController();
    const cancelTimer = clock.setTimer(msMax, () => {
      tooLong.abort();
      resolve(false);
    });
    const end = (isThere: boolean): void => {
      cancelTimer();
      resolve(isThere);
    };
    views.reached(position, tooLong.signal).then(
      () => end(true),
      () => end(false),
    );
  });
}
