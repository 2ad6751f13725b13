import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LogEvent } from '@countersign/contracts';
import { sleep } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import { createEventQueue } from './event-queue.js';
import type { NotaryPorts } from './ports.js';

/** The dependencies of a follower. */
export interface FollowerPorts extends Pick<NotaryPorts, 'store' | 'clock'> {
  /** The follower reads the events after this position. */
  readonly after: number;
  readonly take: (events: readonly LogEvent[]) => void;
  /** Every event of the log is taken; called when that is so first, and later when a checkpoint is due. */
  readonly onDue: () => void;
  /** Some events were taken, and there may be more. */
  readonly onTaken: () => void;
  readonly signal: AbortSignal;
}

/** Takes the events of the log in chunks, between the work of others. */
export interface Follower {
  /** Takes events until the signal aborts. @throws when the log cannot be followed */
  readonly run: () => Promise<void>;
  /** Resolves when the events up to a position are taken. They are taken at once. */
  readonly reached: (position: number) => Promise<void>;
  readonly end: () => Promise<void>;
}

/** Events of this time are taken together. */
const gatherMs = 100;
/** A checkpoint is due so long after the first event that it covers. 10 s is what is promised. */
const dueMs = 9_000;

/** A follower of the log. Its writers do not wait for it: it takes events after they were acknowledged. */
export function createFollower({ store, clock, after, take, onDue, onTaken, signal }: FollowerPorts): Follower {
  const queue = createEventQueue();
  const waiting = new Set<{ readonly position: number; readonly resolve: () => void }>();
  const failure = Promise.withResolvers<never>();
  const news = createBell(clock, signal);
  const hurry = createBell(clock, signal);
  let room = Promise.withResolvers<undefined>();
  let [position, dueAtMs, isCaughtUp] = [after, Infinity, false];

  const subscription = store.subscribe(after, {
    onEvents: (events) => {
      queue.push(events);
      news.ring();
      return queue.isFull() ? room.promise : undefined;
    },
    onCaughtUp: () => {
      if (!isCaughtUp) dueAtMs = 0;
      isCaughtUp = true;
      news.ring();
    },
    onError: failure.reject,
  });
  const takeQueue = async (): Promise<void> => {
    if (!queue.isEmpty()) dueAtMs = Math.min(dueAtMs, clock.monotonic() + dueMs);
    while (!queue.isEmpty() && !signal.aborted) {
      const taken = queue.take();
      take(taken);
      position = taken.at(-1)?.position ?? position;
      if (isCaughtUp) onTaken();
      await nextTurn();
    }
    room.resolve(undefined);
    room = Promise.withResolvers();
  };
  const release = (): void => {
    for (const one of waiting) {
      if (one.position > position && !signal.aborted) continue;
      waiting.delete(one);
      one.resolve();
    }
  };
  const pump = async (): Promise<void> => {
    while (!signal.aborted) {
      if (queue.isEmpty()) await news.wait(dueAtMs - clock.monotonic());
      if (!queue.isEmpty() && !queue.isFull() && waiting.size === 0) await hurry.wait(gatherMs);
      await takeQueue();
      release();
      if (isCaughtUp && clock.monotonic() >= dueAtMs) {
        dueAtMs = Infinity;
        onDue();
      }
    }
  };
  return {
    run: () => Promise.race([pump(), failure.promise]),
    reached: (wanted) => {
      if (wanted <= position || signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        waiting.add({ position: wanted, resolve });
        news.ring();
        hurry.ring();
      });
    },
    end: async () => {
      room.resolve(undefined);
      release();
      await subscription.stop();
    },
  };
}

/** Something that one waits for. A ring before the wait counts. */
function createBell(clock: Clock, signal: AbortSignal) {
  let isRung = false;
  let waiting: AbortController | undefined;
  return {
    ring: (): void => {
      isRung = true;
      waiting?.abort();
    },
    /** Resolves at the next ring, after `ms`, or when the signal aborts. */
    wait: async (ms: number): Promise<void> => {
      if (!isRung) {
        waiting = new AbortController();
        await sleep(clock, Math.max(0, ms), AbortSignal.any([signal, waiting.signal]));
        waiting = undefined;
      }
      isRung = false;
    },
  };
}
