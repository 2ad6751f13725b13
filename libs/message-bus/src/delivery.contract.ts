import { describe, expect, it } from '@jest/globals';
import type { Delivery, Message } from './message-bus.js';
import type { BusUnderTest } from './testing/bus-under-test.js';
import { createRecorder, idOf, inTurns } from './testing/recorder.js';

/** Delivery to groups, by type. */
export function describeDelivery({ harness, subscribe, eventually }: BusUnderTest): void {
  describe('delivery', () => {
    it('gives a new group everything from the oldest message on, then what comes', async () => {
      const seen = createRecorder();
      await harness().publish(inTurns(['a'], 3));
      subscribe(seen);
      await eventually(() => expect(seen.ids()).toEqual(['a.1', 'a.2', 'a.3']));
      await harness().publish([{ id: 'a.4', key: 'a' }]);
      await eventually(() => expect(seen.ids()).toEqual(['a.1', 'a.2', 'a.3', 'a.4']));
    });

    it('carries key, headers and bytes', async () => {
      const seen = createRecorder();
      await harness().publish([
        { id: 'one', key: 'run-1' },
        { id: 'two', key: null },
      ]);
      subscribe(seen);
      await eventually(() => expect(seen.firstIds()).toHaveLength(2));
      const [one, two] = ['one', 'two'].map((id) => seen.handled.find((message) => idOf(message) === id));
      expect(one).toMatchObject({ topic: harness().topic, key: 'run-1' });
      expect(one?.headers).toMatchObject({ ce_id: 'one', 'content-type': 'application/json' });
      expect(one?.offset).toMatch(/^\d+$/);
      expect(JSON.parse(Buffer.from(one?.value ?? []).toString())).toMatchObject({ eventId: 'one', runId: 'run-1' });
      expect(two?.key).toBeNull();
    });

    it('gives each group every message', async () => {
      const [first, second] = [createRecorder(), createRecorder()];
      subscribe({ ...first, group: 'resolvers' });
      subscribe({ ...second, group: 'notifiers' });
      await harness().publish(inTurns(['a', 'b'], 5));
      await eventually(() => expect([first.firstIds().length, second.firstIds().length]).toEqual([10, 10]));
    });

    it('gives only the wanted types, and passes the others', async () => {
      const seen = createRecorder();
      await harness().publish([
        { id: '1', key: 'a', type: 'ToolCallAllowed' },
        { id: '2', key: 'a', type: 'ExecutionLapsed' },
        { id: '3', key: 'a', type: 'ToolCallAllowed' },
      ]);
      subscribe({ ...seen, types: ['ExecutionLapsed'] });
      await eventually(() => expect(seen.ids()).toEqual(['2']));
      await harness().publish([{ id: '4', key: 'a', type: 'ExecutionLapsed' }]);
      await eventually(() => expect(seen.ids()).toEqual(['2', '4']));
      await harness().restart();
      const next = createRecorder();
      subscribe({ ...next, types: ['ExecutionLapsed'] });
      await harness().publish([{ id: '5', key: 'a', type: 'ExecutionLapsed' }]);
      await eventually(() => expect(next.ids()).toEqual(['5']));
    });
  });
}

/** The order within a key, and the limits of what runs at once. */
export function describeOrder({ harness, subscribe, eventually }: BusUnderTest): void {
  describe('order and concurrency', () => {
    it('keeps the order of a key and never handles two of it at once', async () => {
      const seen = createRecorder();
      const messages = inTurns(['a', 'b', 'c', 'd', 'e'], 20);
      subscribe(seen);
      await harness().publish(messages);
      await eventually(() => expect(seen.firstIds()).toHaveLength(100));
      expect(seen.overlaps).toEqual([]);
      for (const key of ['a', 'b', 'c', 'd', 'e']) {
        const ofKey = (ids: readonly string[]): string[] => ids.filter((id) => id.startsWith(key));
        expect(ofKey(seen.firstIds())).toEqual(ofKey(messages.map(({ id }) => id)));
      }
    });

    it('handles different keys side by side, up to the limit', async () => {
      const seen = createRecorder();
      seen.hold();
      subscribe({ ...seen, concurrency: 3 });
      await harness().publish(inTurns(['a', 'b', 'c', 'd', 'e'], 2));
      await eventually(() => expect(seen.running.size).toBe(3));
      seen.release();
      await eventually(() => expect(seen.firstIds()).toHaveLength(10));
      expect(seen.mostAtOnce()).toBe(3);
    });

    it('holds no more messages than it may', async () => {
      const seen = createRecorder();
      seen.hold();
      const subscription = subscribe({ ...seen, inFlightMax: 4 });
      await harness().publish(inTurns(['a'], 30));
      await eventually(() => expect(subscription.status().inFlight).toBe(4));
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(subscription.status().inFlight).toBe(4);
      seen.release();
      await eventually(() => expect(seen.firstIds()).toHaveLength(30));
    });
  });
}

/** The progress of a group over stops and crashes. */
export function describeProgress({ harness, subscribe, eventually }: BusUnderTest): void {
  describe('progress', () => {
    it('is kept over a restart: nothing is lost, and after a clean stop nothing comes twice', async () => {
      const [before, after] = [createRecorder(), createRecorder()];
      await harness().publish(inTurns(['a', 'b'], 4));
      subscribe(before);
      await eventually(() => expect(before.handled).toHaveLength(8));
      await harness().restart();
      await harness().publish([{ id: 'a.5', key: 'a' }]);
      subscribe(after);
      await eventually(() => expect(after.ids()).toEqual(['a.5']));
    });

    it('never passes a message whose handler has not ended: after a crash it comes again', async () => {
      const [before, after] = [createRecorder(), createRecorder()];
      const stuck = async (message: Message): Promise<void> => {
        if (message.key === 'stuck') await new Promise(() => undefined);
        await before.onMessage(message);
      };
      await harness().publish([{ id: 'stuck.1', key: 'stuck' }, ...inTurns(['a'], 5)]);
      subscribe({ onMessage: stuck });
      await eventually(() => expect(before.ids()).toEqual(inTurns(['a'], 5).map(({ id }) => id)));
      // Longer than the progress is held back.
      await new Promise((resolve) => setTimeout(resolve, 400));
      await harness().crash();
      subscribe(after);
      await eventually(() => expect(after.ids()).toContain('stuck.1'));
    });

    it('is written without a stop, soon after', async () => {
      const [before, after] = [createRecorder(), createRecorder()];
      await harness().publish(inTurns(['a'], 5));
      subscribe(before);
      await eventually(() => expect(before.handled).toHaveLength(5));
      await new Promise((resolve) => setTimeout(resolve, 400));
      await harness().crash();
      subscribe(after);
      await harness().publish([{ id: 'a.6', key: 'a' }]);
      await eventually(() => expect(after.ids()).toEqual(['a.6']));
    });

    it('waits for the running handlers at a stop, tells them, and starts no others', async () => {
      const seen = createRecorder();
      let signal: AbortSignal | undefined;
      seen.hold();
      const onMessage = (message: Message, delivery: Delivery): Promise<void> => {
        signal = delivery.signal;
        return seen.onMessage(message);
      };
      const subscription = subscribe({ onMessage, inFlightMax: 3 });
      await harness().publish(inTurns(['a'], 9));
      await eventually(() => expect(seen.running.size).toBe(1));
      expect(signal?.aborted).toBe(false);
      let stopped = false;
      const stopping = subscription.stop().then(() => (stopped = true));
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect([stopped, signal?.aborted]).toEqual([false, true]);
      seen.release();
      await stopping;
      expect(seen.ids()).toEqual(['a.1']);
      expect(subscription.status().state).toBe('stopped');
      const next = createRecorder();
      subscribe(next);
      await eventually(() =>
        expect(next.ids()).toEqual(
          inTurns(['a'], 9)
            .map(({ id }) => id)
            .slice(1),
        ),
      );
    });
  });
}
