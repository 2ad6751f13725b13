import type { Clock } from '@countersign/runtime';
import { EventStoreUnavailableError } from './event-store.js';
import type { StoreClock } from './store-clock.js';

/** The clock of commands. */
export type DecidingClock = Clock & Pick<StoreClock, 'missedSince'>;

/**
 * The clock of commands: a stored time is the store's or none.
 * @throws EventStoreUnavailableError from `now` while the store's time is not known; a retry is safe.
 */
export function createDecidingClock(clock: StoreClock): DecidingClock {
  const { monotonic, setTimer, missedSince } = clock;
  const now = (): number => {
    const doubt = clock.doubt();
    if (doubt !== undefined) throw new EventStoreUnavailableError(doubt);
    return clock.now();
  };
  return { now, monotonic, setTimer, missedSince };
}
