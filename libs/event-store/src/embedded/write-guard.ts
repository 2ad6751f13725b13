import { EventStoreUnavailableError } from '../event-store.js';
import type { StoreHealth } from '../event-store.js';

/** Guards writes: it says when the log may be written. */
export interface WriteGuard {
  readonly health: () => StoreHealth;
  /** @throws EventStoreUnavailableError when a write must not even be tried. */
  readonly admit: () => void;
  /** A write succeeded: the disk has space again. */
  readonly succeeded: () => void;
  /** No space: reads continue, and from time to time one write is tried. */
  readonly full: (why: string) => void;
  /** Stored events are damaged: reads of sound events go on, nothing is written on top. */
  readonly damaged: (why: string) => void;
  /** It is unknown what was written, or the store was closed: only reopening helps. */
  readonly broken: (why: string) => void;
}

const probeIntervalMs = 2000;

/** A guard that allows everything until a test changes it. */
export function createWriteGuard(monotonic: () => number): WriteGuard {
  let health: StoreHealth = { status: 'ok' };
  let probeAt = Infinity;
  let isDamaged = false;
  const become = (next: StoreHealth, nextProbeAt: number): void => {
    // A broken store never recovers, and a disk with space again does not mend a damaged one.
    if (health.status === 'unavailable' || (isDamaged && next.status !== 'unavailable')) return;
    health = next;
    probeAt = nextProbeAt;
  };
  return {
    health: () => health,
    admit: () => {
      if (health.status === 'ok') return;
      if (monotonic() < probeAt) throw new EventStoreUnavailableError(health.why);
      probeAt = monotonic() + probeIntervalMs;
    },
    succeeded: () => {
      if (health.status !== 'ok' && probeAt !== Infinity) become({ status: 'ok' }, Infinity);
    },
    full: (why) => {
      become({ status: 'read-only', why }, monotonic() + probeIntervalMs);
    },
    damaged: (why) => {
      become({ status: 'read-only', why }, Infinity);
      isDamaged = true;
    },
    broken: (why) => {
      become({ status: 'unavailable', why }, Infinity);
    },
  };
}
