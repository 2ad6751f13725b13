/// <reference types="jest" />
import { setTimeout as delay } from 'node:timers/promises';
import type { LogEvent } from '@countersign/contracts';
import type { EventStore, Subscription, SubscriptionHandler } from './event-store.js';
import { noStream } from './event-store.js';
import { sampleEvents, sampleStream } from './sample-events.js';

/** A subscription and what it has seen. */
interface Watch {
  readonly subscription: Subscription;
  readonly seen: LogEvent[];
  readonly errors: unknown[];
  readonly caughtUp: () => number;
}

function watch(store: EventStore, after: number, handler: Partial<SubscriptionHandler> = {}): Watch {
  const [seen, errors]: [LogEvent[], unknown[]] = [[], []];
  let caughtUp = 0;
  const subscription = store.subscribe(after, {
    ...(handler.streams !== undefined && { streams: handler.streams }),
    onEvents: (events) => {
      seen.push(...events);
      return handler.onEvents?.(events);
    },
    onCaughtUp: () => {
      caughtUp += 1;
      handler.onCaughtUp?.();
    },
    onError: (error) => errors.push(error),
  });
  return { subscription, seen, errors, caughtUp: () => caughtUp };
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 100_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`waited too long for ${what}`);
    await delay(2);
  }
}

async function fill(store: EventStore, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 10)
    await store.append(sampleStream(), noStream, sampleEvents(Math.min(10, left)));
}

/** The part of the suite about subscriptions. */
export function describeSubscriptions(store: () => EventStore): void {
  describe('a subscription', () => {
    it('begins after its position, exclusive', async () => {
      await fill(store(), 30);
      const start = await store().head();
      await fill(store(), 5);
      const [watched, empty] = [watch(store(), start), watch(store(), await store().head())];
      await until(() => watched.caughtUp() === 1 && empty.caughtUp() === 1, 'both to catch up');
      expect(watched.seen).toEqual(await store().readAll(start, 100));
      expect(empty.seen).toEqual([]);
      await Promise.all([watched.subscription.stop(), empty.subscription.stop()]);
    });

    it('gets everything once and in order, first what is recorded, then live, while appends run', async () => {
      const start = await store().head();
      await fill(store(), 400);
      const watches: Watch[] = [];
      const appending = (async () => {
        for (let round = 0; round < 30; round += 1) {
          if (round % 10 === 0) watches.push(watch(store(), start));
          await Promise.all([1, 2, 3].map(() => store().append(sampleStream(), noStream, sampleEvents(2))));
        }
      })();
      await appending;
      const all = await store().readAll(start, 10_000);
      for (const { seen, subscription } of watches) {
        await until(() => seen.length >= all.length, 'the subscription to see it all');
        expect(seen).toEqual(all);
        await subscription.stop();
      }
      expect(all).toHaveLength(580);
    });

    it('says when it has caught up, after the events', async () => {
      const start = await store().head();
      await fill(store(), 250);
      const order: string[] = [];
      const { subscription } = watch(store(), start, {
        onEvents: (events) => void order.push(...events.map(() => 'event')),
        onCaughtUp: () => order.push('caught up'),
      });
      await until(() => order.includes('caught up'), 'the signal');
      expect(order.indexOf('caught up')).toBe(250);
      await subscription.stop();
    });

    it('to some streams gets their events alone, what is recorded and live', async () => {
      const start = await store().head();
      const [one, other] = [sampleStream(), sampleStream()];
      await store().append(one, noStream, sampleEvents(2));
      await fill(store(), 120);
      const some = watch(store(), start, { streams: [one, other] });
      await until(() => some.caughtUp() === 1, 'catching up');
      await store().append(sampleStream(), noStream, sampleEvents(1));
      await store().append(other, noStream, sampleEvents(1));
      await until(() => some.seen.length === 3, 'the live event');
      expect(some.seen.map(({ stream }) => stream)).toEqual([one, one, other]);
      await some.subscription.stop();
    });

    it('waits for a slow handler, never calls it twice at once, and skips nothing', async () => {
      const start = await store().head();
      let [active, activeMax] = [0, 0];
      const slow = watch(store(), start, {
        onEvents: async () => {
          active += 1;
          activeMax = Math.max(activeMax, active);
          await delay(3);
          active -= 1;
        },
      });
      const quick = watch(store(), start);
      await fill(store(), 300);
      await until(() => quick.seen.length === 300, 'the quick one');
      await until(() => slow.seen.length === 300, 'the slow one');
      expect(slow.seen).toEqual(quick.seen);
      expect(activeMax).toBe(1);
      await Promise.all([slow.subscription.stop(), quick.subscription.stop()]);
    });

    it('says again that it has caught up when it had fallen behind', async () => {
      const { subscription, caughtUp, seen } = watch(store(), await store().head(), { onEvents: () => delay(20) });
      await until(() => caughtUp() === 1, 'the first signal');
      await fill(store(), 100);
      await until(() => seen.length === 100 && caughtUp() >= 2, 'the second signal');
      await subscription.stop();
    });

    it('stops: waits for the handler that runs, and calls it no more', async () => {
      let finished = 0;
      const watched = watch(store(), await store().head(), {
        onEvents: async () => {
          await delay(30);
          finished += 1;
        },
      });
      await until(() => watched.caughtUp() === 1, 'catching up');
      await fill(store(), 20);
      await until(() => watched.seen.length > 0, 'a first event');
      await watched.subscription.stop();
      const [seen, done] = [watched.seen.length, finished];
      expect(done).toBeGreaterThan(0);
      await fill(store(), 10);
      await delay(60);
      expect([watched.seen.length, finished, watched.errors]).toEqual([seen, done, []]);
    });

    it.each([
      [
        'throws',
        () => {
          throw new Error('broken projection');
        },
      ],
      ['rejects', () => Promise.reject(new Error('broken projection'))],
    ])('ends alone when its handler %s: appends and other subscriptions go on', async (_, onEvents) => {
      const start = await store().head();
      const [live, healthy] = [watch(store(), start, { onEvents }), watch(store(), start)];
      await until(() => live.caughtUp() === 1 && healthy.caughtUp() === 1, 'both to catch up');
      await fill(store(), 20);
      const late = watch(store(), start, { onEvents });
      await until(() => healthy.seen.length === 20, 'the healthy one');
      for (const broken of [live, late]) {
        await until(() => broken.errors.length > 0, 'the error');
        expect(broken.errors).toEqual([new Error('broken projection')]);
      }
      const seen = live.seen.length + late.seen.length;
      await fill(store(), 10);
      await until(() => healthy.seen.length === 30, 'the healthy one');
      expect(live.seen.length + late.seen.length).toBe(seen);
      await healthy.subscription.stop();
      await live.subscription.stop();
    });

    it('ends silently when the store is closed', async () => {
      const watched = watch(store(), await store().head());
      await until(() => watched.caughtUp() === 1, 'catching up');
      await store().close();
      await delay(20);
      expect([watched.seen, watched.errors]).toEqual([[], []]);
      await watched.subscription.stop();
    });
  });
}
