import { describe, expect, it } from '@jest/globals';
import { PoisonMessageError } from './message-bus.js';
import type { Message } from './message-bus.js';
import type { BusUnderTest } from './testing/bus-under-test.js';
import { createRecorder, idOf, inTurns } from './testing/recorder.js';

/** Messages whose handler ends its process. */
export function describeCrashes({ harness, subscribe, eventually }: BusUnderTest): void {
  describe('a process that ends while it handles a message', () => {
    /** Handles everything but the poison, with which its process ends. */
    const untilPoison = async (seen: ReturnType<typeof createRecorder>, poison = 'poison'): Promise<void> => {
      let begun = false;
      const onMessage = async (message: Message): Promise<void> => {
        if (idOf(message) !== poison) return seen.onMessage(message);
        begun = true;
        await new Promise(() => undefined);
      };
      subscribe({ onMessage });
      await eventually(() => expect(begun).toBe(true));
      await harness().crash();
    };

    it('three times leaves the message parked, whole, and the messages behind it are handled', async () => {
      const seen = createRecorder();
      await harness().publish([
        ...inTurns(['a', 'b'], 3),
        { id: 'poison', key: 'a' },
        { id: 'a.4', key: 'a' },
        { id: 'b.4', key: 'b' },
      ]);
      for (let life = 1; life <= 3; life += 1) {
        expect(await harness().bus().deadLetters.list()).toEqual([]);
        await untilPoison(seen);
      }
      expect(seen.ids()).not.toContain('a.4');
      subscribe({
        onMessage: (message) => {
          if (idOf(message) === 'poison') throw new Error('the poison was handled a fourth time');
          return seen.onMessage(message);
        },
      });
      await eventually(() => {
        expect(seen.firstIds()).toEqual(expect.arrayContaining([...inTurns(['a', 'b'], 4).map(({ id }) => id)]));
      });
      expect(await harness().bus().deadLetters.list()).toMatchObject([
        { group: 'resolvers', key: 'a', code: 'crashed', attempts: 3, headers: { ce_id: 'poison' } },
      ]);
    });

    it('gets its messages again one at a time, so that the others are not suspected', async () => {
      const [seen, next] = [createRecorder(), createRecorder()];
      const messages = inTurns(['a', 'b', 'c', 'd', 'e'], 2);
      await harness().publish([{ id: 'poison', key: 'p' }, ...messages]);
      await untilPoison(seen);
      const running = new Set<string>();
      let mostAtOnce = 0;
      const onMessage = async (message: Message): Promise<void> => {
        running.add(idOf(message));
        mostAtOnce = Math.max(mostAtOnce, running.size);
        await next.onMessage(message);
        running.delete(idOf(message));
      };
      subscribe({ onMessage });
      await eventually(() => expect(next.firstIds()).toContain('poison'));
      await harness().publish([{ id: 'last', key: 'p' }]);
      await eventually(() => expect(next.firstIds()).toContain('last'));
      expect(mostAtOnce).toBe(1);
      expect(await harness().bus().deadLetters.list()).toEqual([]);
    });

    it('is another thing than one that stops: a message may be begun by many that do', async () => {
      const seen = createRecorder();
      await harness().publish([{ id: 'slow', key: 'a' }]);
      for (let life = 1; life <= 5; life += 1) {
        let begun = false;
        subscribe({
          onMessage: async (_message, { signal }) => {
            begun = true;
            await new Promise((_resolve, reject) => {
              signal.addEventListener('abort', () => reject(new Error('it stops')));
            });
          },
        });
        await eventually(() => expect(begun).toBe(true));
        await harness().restart();
      }
      subscribe(seen);
      await eventually(() => expect(seen.ids()).toEqual(['slow']));
      expect(await harness().bus().deadLetters.list()).toEqual([]);
    });

    it('is forgiven the message that only failed: it is not the one that ended it', async () => {
      const seen = createRecorder();
      await harness().publish([{ id: 'failing', key: 'a' }]);
      for (let life = 1; life <= 5; life += 1) {
        let attempts = 0;
        const onMessage = (): Promise<void> => {
          attempts += 1;
          return Promise.reject(new RangeError('the store is down'));
        };
        subscribe({ onMessage, isTransient: () => true, retryDelayMsMin: 600, retryDelayMsMax: 600 });
        await eventually(() => expect(attempts).toBe(1));
        // Longer than the progress is held back.
        await new Promise((resolve) => setTimeout(resolve, 400));
        await harness().crash();
      }
      subscribe(seen);
      await eventually(() => expect(seen.ids()).toEqual(['failing']));
      expect(await harness().bus().deadLetters.list()).toEqual([]);
    });

    it('with a replayed message counts for that one, and parks it again', async () => {
      const seen = createRecorder();
      await harness().publish([{ id: 'bad', key: 'a' }]);
      const subscription = subscribe({ onMessage: () => Promise.reject(new PoisonMessageError('malformed', 'no')) });
      await eventually(async () => expect(await harness().bus().deadLetters.list()).toHaveLength(1));
      await subscription.stop();
      const [letter] = await harness().bus().deadLetters.list();
      await harness()
        .bus()
        .deadLetters.replay(letter?.id ?? '');
      for (let life = 1; life <= 3; life += 1) await untilPoison(seen, 'bad');
      subscribe(seen);
      await harness().publish([{ id: 'good', key: 'a' }]);
      await eventually(() => expect(seen.ids()).toEqual(['good']));
      await eventually(async () => {
        expect(await harness().bus().deadLetters.list()).toMatchObject([
          { code: 'crashed', headers: { ce_id: 'bad' } },
        ]);
      });
    });
  });
}
