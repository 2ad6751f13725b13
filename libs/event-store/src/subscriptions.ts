import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RecordedEvent } from '@countersign/contracts';
import type { Subscription, SubscriptionHandler } from './event-store.js';

/** The log as subscriptions read it: synchronous, so that nothing can be recorded between a look and what follows it. */
export interface ReadableLog {
  readonly head: () => number;
  /** At most `limit` events after a position, in order. */
  readonly readAll: (after: number, limit: number) => readonly RecordedEvent[];
}

/** The subscriptions on a log in this process. */
export interface Subscriptions {
  readonly subscribe: (after: number, handler: SubscriptionHandler) => Subscription;
  /** Hands newly committed events to everyone who is live, before it returns. */
  readonly publish: (events: readonly RecordedEvent[]) => void;
  /** Ends them all; no handler is called any more. */
  readonly close: () => void;
}

/** How many events are read at a time while catching up: what a slow subscriber costs in memory. */
const pageSize = 100;
/** After so many pages other work gets a turn; fewer, and a busy log would grow faster than it is read. */
const pagesPerTurn = 10;

/** A subscriber that lives beside the log. `publish` tells whether it wants to hear of the next commit. */
interface Subscriber {
  readonly publish: (events: readonly RecordedEvent[]) => void;
  readonly end: () => void;
}

/**
 * Subscriptions in the process of the log. A handler that answers at once is live: it gets each commit inside `publish`.
 * One that returns a promise falls behind while it works, and reads on in pages from where it was: nothing is buffered
 * for it.
 */
export function createSubscriptions(log: ReadableLog): Subscriptions {
  const subscribers = new Set<Subscriber>();
  return {
    subscribe: (after, handler) => {
      const { subscriber, subscription } = createSubscriber(log, after, handler, () => subscribers.delete(subscriber));
      subscribers.add(subscriber);
      return subscription;
    },
    publish: (events) => {
      for (const subscriber of subscribers) subscriber.publish(events);
    },
    close: () => {
      for (const subscriber of subscribers) subscriber.end();
    },
  };
}

function createSubscriber(
  log: ReadableLog,
  after: number,
  handler: SubscriptionHandler,
  onEnd: () => void,
): { readonly subscriber: Subscriber; readonly subscription: Subscription } {
  let position = after;
  let mode: 'behind' | 'live' | 'ended' = 'behind';
  let running: Promise<void> = Promise.resolve();

  const isEnded = (): boolean => mode === 'ended';
  const end = (): void => {
    mode = 'ended';
    onEnd();
  };
  const fail = (error: unknown): void => {
    if (isEnded()) return;
    end();
    // On its own: whatever it does, the append that is being published is committed, and its writer is told so.
    queueMicrotask(() => {
      handler.onError(error);
    });
  };
  /** Hands events over; the promise of a handler that needs time. */
  const deliver = (events: readonly RecordedEvent[]): Promise<void> | undefined => {
    position = events.at(-1)?.position ?? position;
    return handler.onEvents(events) ?? undefined;
  };
  const catchUp = async (): Promise<void> => {
    for (let pages = 1; !isEnded(); pages += 1) {
      const page = log.readAll(position, pageSize);
      if (page.length === 0) {
        mode = 'live';
        handler.onCaughtUp?.();
        return;
      }
      await (deliver(page) ?? (pages % pagesPerTurn === 0 ? nextTurn() : undefined));
    }
  };
  /** After a live delivery took time: live again if nothing was missed, else behind. */
  const resume = async (delivery: Promise<void>): Promise<void> => {
    await delivery;
    if (isEnded()) return;
    if (position === log.head()) mode = 'live';
    else await catchUp();
  };
  const run = (work: Promise<void>): void => {
    running = work.catch(fail);
  };
  const start = async (): Promise<void> => {
    await nextTurn();
    if (after > log.head()) {
      throw new RangeError(
        `position ${after} is after the end of the log (${log.head()}): the log was put back to an older state`,
      );
    }
    await catchUp();
  };
  run(start());

  return {
    subscriber: {
      end,
      publish: (events) => {
        if (mode !== 'live') return;
        try {
          const delivery = deliver(events);
          if (delivery === undefined) return;
          mode = 'behind';
          run(resume(delivery));
        } catch (error) {
          fail(error);
        }
      },
    },
    subscription: {
      stop: async () => {
        end();
        await running;
      },
    },
  };
}
