import type { LogEvent } from '@countersign/contracts';
import type { Clock, Log } from '@countersign/runtime';
import { sleep } from '@countersign/runtime';
import { storeBackoffMs } from '../append-until-known.js';
import { EventStoreUnavailableError } from '../event-store.js';
import type { Subscription, SubscriptionHandler } from '../event-store.js';
import type { ClientItem, ClientPosition, ClientSubscription } from './client.js';
import { fromClientEvent } from './encoding.js';
import { meaningOf } from './errors.js';
import type { SeenEvent } from './rewind-watch.js';
import { refusedQuestion, startAt } from './reads.js';
import type { ReadPorts, Reads } from './reads.js';

/** The dependencies of a subscription. */
export interface SubscribePorts extends ReadPorts {
  readonly reads: Reads;
  readonly log: Log;
  /** After this silence the position is compared with the end of the log. */
  readonly silenceMs: number;
  /** Called with the position of each event that was read. */
  readonly saw: (event: SeenEvent) => void;
  /** Called with the position of an event that was read, and is not there any more. */
  readonly lost: (position: number) => void;
}

const batchMax = 200;
/** After falling behind: the silence after which the subscription checks whether it has caught up. */
const settleMs = 100;
/** After this silence a subscription to some streams has caught up, also to a server that does not say so. */
const quietMsMax = 1000;
/** The cause of a new subscription to some streams: the end of the log does not tell whether the old one still works. */
const renewed = 'nothing came of these streams';
const backoffFactorMax = 10;

/**
 * The log after a position, without end. The client's subscription ends at every restart of the server and does not
 * come back, so this one starts a new one after the last delivered event.
 */
export function createSubscription(ports: SubscribePorts, after: number, handler: SubscriptionHandler): Subscription {
  const { clock, ids, log } = ports;
  const stopping = new AbortController();
  const ended = AbortSignal.any([stopping.signal, ports.connection.closing]);
  const follower = createFollower(ports, after, handler, ended);
  const run = async (): Promise<void> => {
    for (let attempt = 1; ; attempt += 1) {
      const position = follower.position();
      const cause = await follower.follow();
      if (ended.aborted) return;
      if (cause === renewed) {
        attempt = 0;
        continue;
      }
      if (follower.position() !== position) attempt = 1;
      log[attempt === 1 ? 'warn' : 'debug']({ cause, position: follower.position() }, 'the subscription is resumed');
      await sleep(clock, storeBackoffMs(ids, attempt) * Math.min(backoffFactorMax, attempt), ended);
    }
  };
  const running = run().catch((error: unknown) => {
    if (ended.aborted) return;
    stopping.abort();
    handler.onError(error);
  });
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

interface Follower {
  readonly position: () => number;
  /**
   * Follows until the subscription breaks, and returns the reason. @throws errors that a new subscription does not fix.
   */
  readonly follow: () => Promise<unknown>;
}

function createFollower(
  ports: SubscribePorts,
  after: number,
  handler: SubscriptionHandler,
  ended: AbortSignal,
): Follower {
  const { connection, clock, silenceMs, saw, lost } = ports;
  const { streams: prefixes = ports.prefixes } = handler;
  const delivery = createDelivery({ prefixes, saw }, after, handler, ended);

  const hasAll = async (quietMs: number): Promise<boolean> => {
    if (handler.streams !== undefined) return quietMs >= quietMsMax;
    const end = await headOf(ports);
    return end !== undefined && delivery.position() >= end;
  };
  const read = async (source: ClientSubscription, over: AbortSignal): Promise<unknown> => {
    let [waitMs, quietSince] = [settleMs, clock.monotonic()];
    while (!over.aborted) {
      const { items, cause } = taken(source);
      if (items === undefined) return cause;
      if (items.length > 0) {
        await delivery.handOver(items, source);
        [waitMs, quietSince] = [delivery.isBehind() ? settleMs : silenceMs, clock.monotonic()];
      } else if (!(await arrival(clock, source, waitMs, over))) {
        // Silence: either all has been read, or the subscription broke silently.
        const quietMs = clock.monotonic() - quietSince;
        if (handler.streams !== undefined && quietMs >= silenceMs) return renewed;
        if (await hasAll(quietMs)) {
          delivery.caughtUp();
          [waitMs, quietSince] = [silenceMs, clock.monotonic()];
        } else if (quietMs >= silenceMs) {
          return 'recorded events did not come';
        } else waitMs = Math.min(silenceMs, waitMs * 2);
      }
    }
    return 'the client was replaced';
  };
  return {
    position: delivery.position,
    follow: async () => {
      const { client, replaced } = await connection.linked();
      const end = await headOf(ports);
      if (end === undefined) return 'the event store cannot be read';
      // The server would continue with the next recorded event, and the gap would go unnoticed.
      if (end < delivery.position()) {
        if (delivery.last() !== undefined) lost(delivery.position());
        throw new RangeError(rewoundMessage(delivery.position(), end));
      }
      const isThere = await hasStill(ports, delivery.last());
      if (isThere === undefined) return 'the event store cannot be read';
      // Attack: the store was put back, and has grown past what was seen: its end does not tell it.
      if (!isThere) {
        lost(delivery.position());
        throw new RangeError(`the event at position ${String(delivery.position())} is another one than before`);
      }
      const source = client.subscribeToAll(delivery.begin(), prefixes);
      try {
        const cause = await read(source, AbortSignal.any([ended, replaced]));
        if (meaningOf(cause).kind !== 'refused-question' || delivery.backToEvent()) return cause;
        throw refusedQuestion(`begin after position ${String(delivery.position())}`, cause);
      } finally {
        source.stop();
      }
    },
  };
}

interface Delivery {
  readonly position: () => number;
  /** The last delivered event; undefined: there was none. */
  readonly last: () => SeenEvent | undefined;
  readonly isBehind: () => boolean;
  /** Where to subscribe; also counts as falling behind. */
  readonly begin: () => ClientPosition | 'start';
  /** Begins after the last delivered event next time. False: it did so this time. */
  readonly backToEvent: () => boolean;
  readonly handOver: (items: readonly ClientItem[], source: ClientSubscription) => Promise<void>;
  readonly caughtUp: () => void;
}

/** Passes events to the handler, each once, in order, one batch after the other. */
function createDelivery(
  { prefixes, saw }: Pick<SubscribePorts, 'prefixes' | 'saw'>,
  after: number,
  handler: SubscriptionHandler,
  ended: AbortSignal,
): Delivery {
  let position = after;
  let last: SeenEvent | undefined;
  /** Further than `position` when the server has looked through others' events. */
  let resumeAt = startAt(after);
  let isFurther = false;
  let isBehind = true;

  const deliver = async (events: readonly LogEvent[], source: ClientSubscription): Promise<void> => {
    if (events.length === 0 || ended.aborted) return;
    last = events.at(-1) ?? last;
    position = last?.position ?? position;
    [resumeAt, isFurther] = [startAt(position), false];
    if (last !== undefined) saw(last);
    const work = handler.onEvents(events);
    if (work === undefined) return;
    await work;
    if (source.hasMore()) isBehind = true;
  };
  const caughtUp = (): void => {
    if (!isBehind || ended.aborted) return;
    isBehind = false;
    handler.onCaughtUp?.();
  };
  return {
    position: () => position,
    last: () => last,
    isBehind: () => isBehind,
    begin: () => {
      isBehind = true;
      return resumeAt;
    },
    backToEvent: () => {
      const wasFurther = isFurther;
      [resumeAt, isFurther] = [startAt(position), false];
      return wasFurther;
    },
    caughtUp,
    handOver: async (items, source) => {
      let events: LogEvent[] = [];
      for (const item of items) {
        if (item.kind === 'event') {
          const event = fromClientEvent(item.event, prefixes);
          if (event !== undefined && event.position > position) events.push(event);
          continue;
        }
        await deliver(events, source);
        events = [];
        if (item.kind === 'caught-up') caughtUp();
        else [resumeAt, isFurther] = [item.position, true];
      }
      await deliver(events, source);
    },
  };
}

type Taken =
  | { readonly items: readonly ClientItem[]; readonly cause?: never }
  | { readonly items?: never; readonly cause: unknown };

function taken(source: ClientSubscription): Taken {
  try {
    return { items: source.take(batchMax) };
  } catch (cause) {
    return { cause };
  }
}

/** The end of the log, if it is known. */
async function headOf({ reads }: SubscribePorts): Promise<number | undefined> {
  try {
    return await reads.head();
  } catch (error) {
    if (error instanceof EventStoreUnavailableError) return undefined;
    throw error;
  }
}

/** Returns whether the log still has an event that was seen; undefined while it cannot be read. */
async function hasStill({ reads }: SubscribePorts, seen: SeenEvent | undefined): Promise<boolean | undefined> {
  if (seen === undefined) return true;
  try {
    return (await reads.idAt(seen.position)) === seen.eventId;
  } catch (error) {
    if (error instanceof EventStoreUnavailableError) return undefined;
    throw error;
  }
}

/** True when something arrived, false when nothing did for that long. */
function arrival(clock: Clock, source: ClientSubscription, waitMs: number, over: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const done = (hasArrived: boolean): void => {
      cancelTimer();
      cancelWish();
      over.removeEventListener('abort', end);
      resolve(hasArrived);
    };
    const end = (): void => {
      done(true);
    };
    over.addEventListener('abort', end, { once: true });
    const cancelTimer = clock.setTimer(waitMs, () => {
      done(false);
    });
    let cancelWish = (): void => undefined;
    cancelWish = source.onArrival(end);
  });
}

function rewoundMessage(position: number, end: number): string {
  return `position ${position} is after the end of the log (${end}): the log was put back to an older state`;
}
