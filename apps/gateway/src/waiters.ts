import type { Actor } from '@countersign/commands';
import type { ReadModel } from '@countersign/read-model';
import type { Clock } from '@countersign/runtime';
import type { Quota } from './limits/quota.js';

/** Registers a callback for when a reader disconnects. Returns a function that removes it. */
export type OnClose = (listener: () => void) => () => void;

/** Requests that wait for a call to change, without polling: the read model notifies them of applied events. */
export interface Waiters {
  /**
   * Settles when `isDone` holds after an event of the call, when `waitMs` are over, when `onClose` fires, or when the
   * process stops; the reader then looks at the call again. @throws ProblemError `too-many-requests` beyond the quota.
   */
  readonly wait: (wait: {
    readonly actor: Actor;
    readonly callId: string;
    readonly waitMs: number;
    readonly isDone: () => boolean;
    readonly onClose: OnClose;
  }) => Promise<void>;
  readonly count: () => number;
  readonly close: () => void;
}

interface Waiter {
  readonly isDone: () => boolean;
  readonly wake: () => void;
}

interface WaitersPorts {
  readonly readModel: ReadModel;
  readonly clock: Clock;
  readonly quota: Quota;
}

/** Waiters over one listener of the read model, for any number of requests. */
export function createWaiters({ readModel, clock, quota }: WaitersPorts): Waiters {
  const byCall = new Map<string, Set<Waiter>>();
  let count = 0;
  let isClosed = false;
  const stopListening = readModel.onApplied(({ callIds }) => {
    if (count === 0) return;
    for (const callId of callIds) {
      for (const waiter of byCall.get(callId) ?? []) if (waiter.isDone()) waiter.wake();
    }
  });

  const add = (callId: string, waiter: Waiter): void => {
    const waiters = byCall.get(callId) ?? new Set();
    byCall.set(callId, waiters.add(waiter));
    count += 1;
  };
  const remove = (callId: string, waiter: Waiter): void => {
    const waiters = byCall.get(callId);
    if (waiters?.delete(waiter) !== true) return;
    count -= 1;
    if (waiters.size === 0) byCall.delete(callId);
  };

  return {
    wait: ({ actor, callId, waitMs, isDone, onClose }) =>
      new Promise((resolve) => {
        if (isClosed) {
          resolve();
          return;
        }
        const giveBack = quota.take(actor);
        const wake = (): void => {
          cancelTimer();
          remove(callId, waiter);
          giveBack();
          forget();
          resolve();
        };
        const waiter: Waiter = { isDone, wake };
        const cancelTimer = clock.setTimer(waitMs, wake);
        add(callId, waiter);
        let forget = (): void => undefined;
        forget = onClose(wake);
      }),
    count: () => count,
    close: () => {
      isClosed = true;
      stopListening();
      for (const waiters of [...byCall.values()]) for (const waiter of [...waiters]) waiter.wake();
    },
  };
}
