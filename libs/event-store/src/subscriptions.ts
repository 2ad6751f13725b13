import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LogEvent } from '@countersign/contracts';
import type { Subscription, SubscriptionHandler } from './event-store.js';

/** The log as subscriptions read it: synchronous, so that nothing can be recorded between a look and what follows it. */
export interface ReadableLog {
  readonly head: () => number;
  /** At most `limit` events after a position, in order. */
  readonly readAll: (after: number, limit: number) => readonly LogEvent[];
}

/** The subscriptions on a log in this process. */
export interface Subscriptions {
  readonly subscribe: (after: number, handler: SubscriptionHandler) => Subscription;
  /** Passes newly committed events to all live subscribers, synchronously. */
  readonly publish: (events: readonly LogEvent[]) => void;
  /** Ends all subscriptions; no handler is called again. */
  readonly close: () => void;
}

/** The page size while catching up: the memory that a slow subscriber costs. */
const pageSize = 100;
/** After this number of pages other work gets a turn. With fewer, a busy log would grow faster than it is read. */
const pagesPerTurn = 10;

/** A subscriber in the process of the log. `publish` reports whether it wants the next commit. */
interface Subscriber {
  readonly publish: (events: readonly LogEvent[]) => void;
  readonly end: () => void;
}

/**
 * Subscriptions in the process of the log. A synchronous handler is live: it gets each commit inside `publish`. An
 * asynchronous one falls behind while it works, and then reads pages from its position: nothing is buffered for it.
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

  const { streams } = handler;
  const isWanted = ({ stream }: LogEvent): boolean => streams?.some((prefix) => stream.startsWith(prefix)) !== false;
  const isEnded = (): boolean => mode === 'ended';
  const end = (): void => {
    mode = 'ended';
    onEnd();
  };
  const fail = (error: unknown): void => {
    if (isEnded()) return;
    end();
    // Isolated: its errors do not affect the append that is being published, which is committed.
    queueMicrotask(() => {
      handler.onError(error);
    });
  };
  /** Passes events on. Returns the promise of an asynchronous handler. */
  const deliver = (events: readonly LogEvent[]): Promise<void> | undefined => {
    position = events.at(-1)?.position ?? position;
    const wanted = streams === undefined ? events : events.filter(isWanted);
    return wanted.length === 0 ? undefined : (handler.onEvents(wanted) ?? undefined);
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
  /** After an asynchronous delivery: live again if nothing was missed, otherwise behind. */
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
