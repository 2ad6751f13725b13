import type { Log } from '@countersign/runtime';
import type { Applied, ReadModel } from '../read-model.js';

/** The listeners of applied events, and the waiters for a position. */
export interface AppliedFeed extends Pick<ReadModel, 'onApplied' | 'reached'> {
  readonly publish: (applied: Applied) => void;
  readonly close: () => void;
}

interface Waiter {
  readonly position: number;
  readonly settle: (error?: Error) => void;
}

/** A feed that starts at the position that `checkpoint` returns. */
export function createAppliedFeed(checkpoint: () => number, log: Log): AppliedFeed {
  const listeners = new Set<(applied: Applied) => void>();
  const waiters = new Set<Waiter>();
  return {
    onApplied: (listener) => {
      // An own object for each registration: the same function may listen twice.
      const own = (applied: Applied): void => {
        listener(applied);
      };
      listeners.add(own);
      return () => {
        listeners.delete(own);
      };
    },
    reached: (position, signal) => (checkpoint() >= position ? Promise.resolve() : waitFor(waiters, position, signal)),
    publish: (applied) => {
      for (const listener of listeners) {
        try {
          listener(applied);
        } catch (error) {
          // The events are applied: an error of one listener must not affect the writer or the other listeners.
          log.error({ error, position: applied.position }, 'a listener to the read model failed');
        }
      }
      for (const waiter of waiters) if (waiter.position <= applied.position) waiter.settle();
    },
    close: () => {
      listeners.clear();
      for (const waiter of waiters) waiter.settle(new Error('the read model is closed'));
    },
  };
}

function waitFor(waiters: Set<Waiter>, position: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      waiter.settle(new Error(`position ${String(position)} was not reached in time`, { cause: signal?.reason }));
    };
    const waiter: Waiter = {
      position,
      settle: (error) => {
        waiters.delete(waiter);
        signal?.removeEventListener('abort', abort);
        if (error === undefined) resolve();
        else reject(error);
      },
    };
    waiters.add(waiter);
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort);
  });
}
