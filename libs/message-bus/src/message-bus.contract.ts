import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { EventType } from '@countersign/contracts';
import { PoisonMessageError } from './message-bus.js';
import type { Delivery, Message, MessageBus, SubscribeOptions } from './message-bus.js';
import { eventually as eventuallyWithin } from './testing/eventually.js';

/** A message of the suite: an event in the form of the events topic, with this id, type and run. */
export interface ContractMessage {
  readonly id: string;
  readonly key: string | null;
  readonly type?: EventType;
}

/** An empty bus, and a test's control over it. */
export interface MessageBusHarness {
  readonly topic: string;
  /** The bus of the process that runs now. */
  readonly bus: () => MessageBus;
  /** Puts messages on the topic, in order. */
  readonly publish: (messages: readonly ContractMessage[]) => Promise<void>;
  /** Closes the bus and opens that of the next process. */
  readonly restart: () => Promise<void>;
  /** Kills the process: nothing more is stopped or stored. Opens the bus of the next process. */
  readonly crash: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const idOf = (message: Message): string => message.headers['ce_id'] ?? '';

/** A handler that a test can hold, fail and look at. */
function createRecorder() {
  const handled: Message[] = [];
  const running = new Set<string>();
  const overlaps: string[] = [];
  let [most, held] = [0, false];
  let release: () => void = () => undefined;
  let gate = Promise.resolve();
  return {
    ids: () => handled.map(idOf),
    handled,
    /** The first handling of each: unsettled messages may come again. */
    firstIds: () => [...new Set(handled.map(idOf))],
    overlaps,
    running,
    mostAtOnce: () => most,
    hold: () => {
      held = true;
      gate = new Promise((resolve) => (release = resolve));
    },
    release: () => {
      held = false;
      release();
    },
    onMessage: async (message: Message): Promise<void> => {
      const key = message.key ?? idOf(message);
      if (running.has(key)) overlaps.push(key);
      running.add(key);
      most = Math.max(most, running.size);
      await (held ? gate : new Promise((resolve) => setImmediate(resolve)));
      running.delete(key);
      handled.push(message);
    },
  };
}

/** Messages `<key>.<n>`, alternating between the keys. */
function inTurns(keys: readonly string[], each: number): ContractMessage[] {
  const numbers = Array.from({ length: each }, (_, index) => index + 1);
  return numbers.flatMap((n) => keys.map((key) => ({ id: `${key}.${n}`, key })));
}

/**
 * The contract of every message bus.
 * @param options `withinMs`: the limit of a delivery, including a new member's join. Default: 5,000.
 */
export function messageBusContract(
  name: string,
  open: () => Promise<MessageBusHarness>,
  options: { readonly withinMs?: number } = {},
): void {
  const eventually = (check: () => void | Promise<void>): Promise<void> => eventuallyWithin(check, options.withinMs);
  describe(`the message bus: ${name}`, () => {
    let harness: MessageBusHarness;
    beforeEach(async () => {
      harness = await open();
    });
    afterEach(async () => {
      await harness.close();
    });
    const subscribe = (consumer: Pick<SubscribeOptions, 'onMessage'> & Partial<SubscribeOptions>) =>
      harness.bus().subscribe({
        group: 'resolvers',
        topics: [harness.topic],
        retryDelayMsMin: 5,
        retryDelayMsMax: 20,
        ...consumer,
      });

    describe('delivery', () => {
      it('gives a new group everything from the oldest message on, then what comes', async () => {
        const seen = createRecorder();
        await harness.publish(inTurns(['a'], 3));
        subscribe(seen);
        await eventually(() => expect(seen.ids()).toEqual(['a.1', 'a.2', 'a.3']));
        await harness.publish([{ id: 'a.4', key: 'a' }]);
        await eventually(() => expect(seen.ids()).toEqual(['a.1', 'a.2', 'a.3', 'a.4']));
      });

      it('carries key, headers and bytes', async () => {
        const seen = createRecorder();
        await harness.publish([
          { id: 'one', key: 'run-1' },
          { id: 'two', key: null },
        ]);
        subscribe(seen);
        await eventually(() => expect(seen.firstIds()).toHaveLength(2));
        const [one, two] = ['one', 'two'].map((id) => seen.handled.find((message) => idOf(message) === id));
        expect(one).toMatchObject({ topic: harness.topic, key: 'run-1' });
        expect(one?.headers).toMatchObject({ ce_id: 'one', 'content-type': 'application/json' });
        expect(one?.offset).toMatch(/^\d+$/);
        expect(JSON.parse(Buffer.from(one?.value ?? []).toString())).toMatchObject({ eventId: 'one', runId: 'run-1' });
        expect(two?.key).toBeNull();
      });

      it('gives each group every message', async () => {
        const [first, second] = [createRecorder(), createRecorder()];
        subscribe({ ...first, group: 'resolvers' });
        subscribe({ ...second, group: 'notifiers' });
        await harness.publish(inTurns(['a', 'b'], 5));
        await eventually(() => expect([first.firstIds().length, second.firstIds().length]).toEqual([10, 10]));
      });

      it('gives only the wanted types, and passes the others', async () => {
        const seen = createRecorder();
        await harness.publish([
          { id: '1', key: 'a', type: 'ToolCallAllowed' },
          { id: '2', key: 'a', type: 'ExecutionLapsed' },
          { id: '3', key: 'a', type: 'ToolCallAllowed' },
        ]);
        subscribe({ ...seen, types: ['ExecutionLapsed'] });
        await eventually(() => expect(seen.ids()).toEqual(['2']));
        await harness.publish([{ id: '4', key: 'a', type: 'ExecutionLapsed' }]);
        await eventually(() => expect(seen.ids()).toEqual(['2', '4']));
        await harness.restart();
        const next = createRecorder();
        subscribe({ ...next, types: ['ExecutionLapsed'] });
        await harness.publish([{ id: '5', key: 'a', type: 'ExecutionLapsed' }]);
        await eventually(() => expect(next.ids()).toEqual(['5']));
      });
    });

    describe('order and concurrency', () => {
      it('keeps the order of a key and never handles two of it at once', async () => {
        const seen = createRecorder();
        const messages = inTurns(['a', 'b', 'c', 'd', 'e'], 20);
        subscribe(seen);
        await harness.publish(messages);
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
        await harness.publish(inTurns(['a', 'b', 'c', 'd', 'e'], 2));
        await eventually(() => expect(seen.running.size).toBe(3));
        seen.release();
        await eventually(() => expect(seen.firstIds()).toHaveLength(10));
        expect(seen.mostAtOnce()).toBe(3);
      });

      it('holds no more messages than it may', async () => {
        const seen = createRecorder();
        seen.hold();
        const subscription = subscribe({ ...seen, inFlightMax: 4 });
        await harness.publish(inTurns(['a'], 30));
        await eventually(() => expect(subscription.status().inFlight).toBe(4));
        await new Promise((resolve) => setTimeout(resolve, 50));
        expect(subscription.status().inFlight).toBe(4);
        seen.release();
        await eventually(() => expect(seen.firstIds()).toHaveLength(30));
      });
    });

    describe('progress', () => {
      it('is kept over a restart: nothing is lost, and after a clean stop nothing comes twice', async () => {
        const [before, after] = [createRecorder(), createRecorder()];
        await harness.publish(inTurns(['a', 'b'], 4));
        subscribe(before);
        await eventually(() => expect(before.handled).toHaveLength(8));
        await harness.restart();
        await harness.publish([{ id: 'a.5', key: 'a' }]);
        subscribe(after);
        await eventually(() => expect(after.ids()).toEqual(['a.5']));
      });

      it('never passes a message whose handler has not ended: after a crash it comes again', async () => {
        const [before, after] = [createRecorder(), createRecorder()];
        const stuck = async (message: Message): Promise<void> => {
          if (message.key === 'stuck') await new Promise(() => undefined);
          await before.onMessage(message);
        };
        await harness.publish([{ id: 'stuck.1', key: 'stuck' }, ...inTurns(['a'], 5)]);
        subscribe({ onMessage: stuck });
        await eventually(() => expect(before.ids()).toEqual(inTurns(['a'], 5).map(({ id }) => id)));
        // Longer than the progress is held back.
        await new Promise((resolve) => setTimeout(resolve, 400));
        await harness.crash();
        subscribe(after);
        await eventually(() => expect(after.ids()).toContain('stuck.1'));
      });

      it('is written without a stop, soon after', async () => {
        const [before, after] = [createRecorder(), createRecorder()];
        await harness.publish(inTurns(['a'], 5));
        subscribe(before);
        await eventually(() => expect(before.handled).toHaveLength(5));
        await new Promise((resolve) => setTimeout(resolve, 400));
        await harness.crash();
        subscribe(after);
        await harness.publish([{ id: 'a.6', key: 'a' }]);
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
        await harness.publish(inTurns(['a'], 9));
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
        await harness.publish(inTurns(['a'], 2));
        await eventually(() => expect(seen.ids()).toEqual(['a.1', 'a.2']));
        expect(attempts).toEqual(['a.1#1', 'a.1#2', 'a.1#3', 'a.2#1']);
        expect(await harness.bus().deadLetters.list()).toEqual([]);
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
        await harness.publish(inTurns(['a', 'b'], 3));
        await eventually(() => expect([...seen.ids()].sort()).toEqual(['a.1', 'a.3', 'b.1', 'b.2', 'b.3']));
        expect(attempts).toHaveLength(3);
        const [original, parked] = [attempts[0]!, (await harness.bus().deadLetters.list({ group: 'resolvers' }))[0]!];
        expect(parked).toMatchObject({
          group: 'resolvers',
          topic: harness.topic,
          key: 'a',
          offset: original.offset,
          code: 'handler-failed',
          detail: 'TypeError: cannot read it',
          attempts: 3,
          parkedAt: expect.stringMatching(/^\d{4}-.*Z$/) as unknown,
        });
        expect(parked.headers).toEqual(original.headers);
        expect(Buffer.from(parked.value)).toEqual(Buffer.from(original.value));
        expect(await harness.bus().deadLetters.show(parked.id)).toEqual(parked);
        expect(await harness.bus().deadLetters.list({ group: 'notifiers' })).toEqual([]);
        expect(await harness.bus().deadLetters.list({ after: parked.id })).toEqual([]);
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
        await harness.publish(inTurns(['a'], 2));
        await eventually(() => expect(seen.ids()).toEqual(['a.2']));
        expect(attempts).toBe(1);
        expect(await harness.bus().deadLetters.list()).toMatchObject([{ code: 'malformed', attempts: 1 }]);
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
        await harness.publish(inTurns(['a', 'b'], 2));
        await eventually(() => expect(attempts).toBeGreaterThan(10));
        down = false;
        await eventually(() => expect(seen.handled).toHaveLength(4));
        expect(await harness.bus().deadLetters.list()).toEqual([]);
      });
    });

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
        await harness.crash();
      };

      it('three times leaves the message parked, whole, and the messages behind it are handled', async () => {
        const seen = createRecorder();
        await harness.publish([
          ...inTurns(['a', 'b'], 3),
          { id: 'poison', key: 'a' },
          { id: 'a.4', key: 'a' },
          { id: 'b.4', key: 'b' },
        ]);
        for (let life = 1; life <= 3; life += 1) {
          expect(await harness.bus().deadLetters.list()).toEqual([]);
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
        expect(await harness.bus().deadLetters.list()).toMatchObject([
          { group: 'resolvers', key: 'a', code: 'crashed', attempts: 3, headers: { ce_id: 'poison' } },
        ]);
      });

      it('gets its messages again one at a time, so that the others are not suspected', async () => {
        const [seen, next] = [createRecorder(), createRecorder()];
        const messages = inTurns(['a', 'b', 'c', 'd', 'e'], 2);
        await harness.publish([{ id: 'poison', key: 'p' }, ...messages]);
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
        await harness.publish([{ id: 'last', key: 'p' }]);
        await eventually(() => expect(next.firstIds()).toContain('last'));
        expect(mostAtOnce).toBe(1);
        expect(await harness.bus().deadLetters.list()).toEqual([]);
      });

      it('is another thing than one that stops: a message may be begun by many that do', async () => {
        const seen = createRecorder();
        await harness.publish([{ id: 'slow', key: 'a' }]);
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
          await harness.restart();
        }
        subscribe(seen);
        await eventually(() => expect(seen.ids()).toEqual(['slow']));
        expect(await harness.bus().deadLetters.list()).toEqual([]);
      });

      it('is forgiven the message that only failed: it is not the one that ended it', async () => {
        const seen = createRecorder();
        await harness.publish([{ id: 'failing', key: 'a' }]);
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
          await harness.crash();
        }
        subscribe(seen);
        await eventually(() => expect(seen.ids()).toEqual(['failing']));
        expect(await harness.bus().deadLetters.list()).toEqual([]);
      });

      it('with a replayed message counts for that one, and parks it again', async () => {
        const seen = createRecorder();
        await harness.publish([{ id: 'bad', key: 'a' }]);
        const subscription = subscribe({ onMessage: () => Promise.reject(new PoisonMessageError('malformed', 'no')) });
        await eventually(async () => expect(await harness.bus().deadLetters.list()).toHaveLength(1));
        await subscription.stop();
        const [letter] = await harness.bus().deadLetters.list();
        await harness.bus().deadLetters.replay(letter?.id ?? '');
        for (let life = 1; life <= 3; life += 1) await untilPoison(seen, 'bad');
        subscribe(seen);
        await harness.publish([{ id: 'good', key: 'a' }]);
        await eventually(() => expect(seen.ids()).toEqual(['good']));
        await eventually(async () => {
          expect(await harness.bus().deadLetters.list()).toMatchObject([
            { code: 'crashed', headers: { ce_id: 'bad' } },
          ]);
        });
      });
    });

    describe('parked messages', () => {
      const park = async (): Promise<string> => {
        const onMessage = (message: Message): void => {
          if (idOf(message) === 'bad') throw new Error('cannot');
        };
        const subscription = subscribe({ onMessage, attemptsMax: 1 });
        await harness.publish([{ id: 'bad', key: 'a' }]);
        await eventually(async () => expect(await harness.bus().deadLetters.list()).toHaveLength(1));
        await subscription.stop();
        const [letter] = await harness.bus().deadLetters.list();
        return letter?.id ?? '';
      };

      it('are not delivered again by themselves, over a restart either', async () => {
        const seen = createRecorder();
        await park();
        await harness.restart();
        subscribe(seen);
        await harness.publish([{ id: 'good', key: 'a' }]);
        await eventually(() => expect(seen.ids()).toEqual(['good']));
        expect(await harness.bus().deadLetters.list()).toHaveLength(1);
      });

      it('can be replayed, and leave the list', async () => {
        const seen = createRecorder();
        const id = await park();
        subscribe(seen);
        expect(await harness.bus().deadLetters.replay(id)).toBe(true);
        await eventually(() => expect(seen.ids()).toEqual(['bad']));
        expect(seen.handled[0]).toMatchObject({ key: 'a', topic: harness.topic });
        expect(await harness.bus().deadLetters.list()).toEqual([]);
        expect(await harness.bus().deadLetters.replay(id)).toBe(false);
      });

      it('can be replayed without a consumer: the next process handles them', async () => {
        const seen = createRecorder();
        expect(await harness.bus().deadLetters.replay(await park())).toBe(true);
        await harness.restart();
        subscribe(seen);
        await eventually(() => expect(seen.ids()).toEqual(['bad']));
      });

      it('come back to the list when they fail again', async () => {
        const id = await park();
        subscribe({ onMessage: () => Promise.reject(new Error('still not')), attemptsMax: 2 });
        await harness.bus().deadLetters.replay(id);
        await eventually(async () => {
          expect(await harness.bus().deadLetters.list()).toMatchObject([{ detail: 'Error: still not' }]);
        });
      });

      it('are replayed once, although asked for twice', async () => {
        const seen = createRecorder();
        const id = await park();
        seen.hold();
        subscribe(seen);
        expect(await harness.bus().deadLetters.replay(id)).toBe(true);
        await eventually(() => expect(seen.running.size).toBe(1));
        expect(await harness.bus().deadLetters.replay(id)).toBe(false);
        seen.release();
        await harness.publish([{ id: 'good', key: 'a' }]);
        await eventually(() => expect(seen.ids()).toEqual(['bad', 'good']));
      });

      it('that do not exist are not replayed', async () => {
        expect(await harness.bus().deadLetters.replay('4711')).toBe(false);
        expect(await harness.bus().deadLetters.show('4711')).toBeUndefined();
      });
    });
  });
}
