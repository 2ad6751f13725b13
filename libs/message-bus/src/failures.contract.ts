import { describe, expect, it } from '@jest/globals';
import { PoisonMessageError } from './message-bus.js';
import type { Delivery, Message } from './message-bus.js';
import type { BusUnderTest } from './testing/bus-under-test.js';
import { createRecorder, idOf, inTurns } from './testing/recorder.js';

/** Failed attempts: retries, then the dead-letter topic. */
export function describeFailures({ harness, subscribe, eventually }: BusUnderTest): void {
  describe('failures', () => {
    it('are tried again, in order within the key, with the number of the attempt', async () => {
      const seen = createRecorder();
      const attempts: string[] = [];
      const onMessage = async (message: Message, { attempt }: Delivery): Promise<void> => {
        attempts.push(`${idOf(message)}#${attempt}`);
        if (idOf(message) === 'a.1' && attempt < 3) throw new Error('not yet');
        await seen.onMessage(message);
      };
      subscribe({ onMessage });
      await harness().publish(inTurns(['a'], 2));
      await eventually(() => expect(seen.ids()).toEqual(['a.1', 'a.2']));
      expect(attempts).toEqual(['a.1#1', 'a.1#2', 'a.1#3', 'a.2#1']);
      expect(await harness().bus().deadLetters.list()).toEqual([]);
    });

    it('park a message unchanged after the last attempt, and delay no other message', async () => {
      const seen = createRecorder();
      const attempts: Message[] = [];
      const onMessage = (message: Message): Promise<void> => {
        if (idOf(message) !== 'a.2') return seen.onMessage(message);
        attempts.push(message);
        // Thrown, not rejected: a handler may be a plain function.
        throw new TypeError('cannot read it');
      };
      subscribe({ onMessage, attemptsMax: 3 });
      await harness().publish(inTurns(['a', 'b'], 3));
      await eventually(() => expect([...seen.ids()].sort()).toEqual(['a.1', 'a.3', 'b.1', 'b.2', 'b.3']));
      expect(attempts).toHaveLength(3);
      const [original, parked] = [attempts[0]!, (await harness().bus().deadLetters.list({ group: 'resolvers' }))[0]!];
      expect(parked).toMatchObject({
        group: 'resolvers',
        topic: harness().topic,
        key: 'a',
        offset: original.offset,
        code: 'handler-failed',
        detail: 'TypeError: cannot read it',
        attempts: 3,
        parkedAt: expect.stringMatching(/^\d{4}-.*Z$/) as unknown,
      });
      expect(parked.headers).toEqual(original.headers);
      expect(Buffer.from(parked.value)).toEqual(Buffer.from(original.value));
      expect(await harness().bus().deadLetters.show(parked.id)).toEqual(parked);
      expect(await harness().bus().deadLetters.list({ group: 'notifiers' })).toEqual([]);
      expect(await harness().bus().deadLetters.list({ after: parked.id })).toEqual([]);
    });

    it('park a message at once that no further attempt can help', async () => {
      const seen = createRecorder();
      let attempts = 0;
      const onMessage = async (message: Message): Promise<void> => {
        if (idOf(message) !== 'a.1') return seen.onMessage(message);
        attempts += 1;
        throw new PoisonMessageError('malformed', 'not JSON');
      };
      subscribe({ onMessage });
      await harness().publish(inTurns(['a'], 2));
      await eventually(() => expect(seen.ids()).toEqual(['a.2']));
      expect(attempts).toBe(1);
      expect(await harness().bus().deadLetters.list()).toMatchObject([{ code: 'malformed', attempts: 1 }]);
    });

    it('of the environment are waited out, and park nothing', async () => {
      const seen = createRecorder();
      let [down, attempts] = [true, 0];
      const onMessage = async (message: Message, delivery: Delivery): Promise<void> => {
        attempts += 1;
        expect(delivery.attempt).toBe(1);
        if (down) throw new RangeError('the store is down');
        await seen.onMessage(message);
      };
      subscribe({ onMessage, attemptsMax: 2, isTransient: (error) => error instanceof RangeError });
      await harness().publish(inTurns(['a', 'b'], 2));
      await eventually(() => expect(attempts).toBeGreaterThan(10));
      down = false;
      await eventually(() => expect(seen.handled).toHaveLength(4));
      expect(await harness().bus().deadLetters.list()).toEqual([]);
    });
  });
}

/** The dead-letter topic and its replays. */
export function describeParkedMessages({ harness, subscribe, eventually }: BusUnderTest): void {
  describe('parked messages', () => {
    const park = async (): Promise<string> => {
      const onMessage = (message: Message): void => {
        if (idOf(message) === 'bad') throw new Error('cannot');
      };
      const subscription = subscribe({ onMessage, attemptsMax: 1 });
      await harness().publish([{ id: 'bad', key: 'a' }]);
      await eventually(async () => expect(await harness().bus().deadLetters.list()).toHaveLength(1));
      await subscription.stop();
      const [letter] = await harness().bus().deadLetters.list();
      return letter?.id ?? '';
    };

    it('are not delivered again by themselves, over a restart either', async () => {
      const seen = createRecorder();
      await park();
      await harness().restart();
      subscribe(seen);
      await harness().publish([{ id: 'good', key: 'a' }]);
      await eventually(() => expect(seen.ids()).toEqual(['good']));
      expect(await harness().bus().deadLetters.list()).toHaveLength(1);
    });

    it('can be replayed, and leave the list', async () => {
      const seen = createRecorder();
      const id = await park();
      subscribe(seen);
      expect(await harness().bus().deadLetters.replay(id)).toBe(true);
      await eventually(() => expect(seen.ids()).toEqual(['bad']));
      expect(seen.handled[0]).toMatchObject({ key: 'a', topic: harness().topic });
      expect(await harness().bus().deadLetters.list()).toEqual([]);
      expect(await harness().bus().deadLetters.replay(id)).toBe(false);
    });

    it('can be replayed without a consumer: the next process handles them', async () => {
      const seen = createRecorder();
      expect(
        await harness()
          .bus()
          .deadLetters.replay(await park()),
      ).toBe(true);
      await harness().restart();
      subscribe(seen);
      await eventually(() => expect(seen.ids()).toEqual(['bad']));
    });

    it('come back to the list when they fail again', async () => {
      const id = await park();
      subscribe({ onMessage: () => Promise.reject(new Error('still not')), attemptsMax: 2 });
      await harness().bus().deadLetters.replay(id);
      await eventually(async () => {
        expect(await harness().bus().deadLetters.list()).toMatchObject([{ detail: 'Error: still not' }]);
      });
    });

    it('are replayed once, although asked for twice', async () => {
      const seen = createRecorder();
      const id = await park();
      seen.hold();
      subscribe(seen);
      expect(await harness().bus().deadLetters.replay(id)).toBe(true);
      await eventually(() => expect(seen.running.size).toBe(1));
      expect(await harness().bus().deadLetters.replay(id)).toBe(false);
      seen.release();
      await harness().publish([{ id: 'good', key: 'a' }]);
      await eventually(() => expect(seen.ids()).toEqual(['bad', 'good']));
    });

    it('that do not exist are not replayed', async () => {
      expect(await harness().bus().deadLetters.replay('4711')).toBe(false);
      expect(await harness().bus().deadLetters.show('4711')).toBeUndefined();
    });
  });
}
