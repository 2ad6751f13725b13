import { createCollectingLog, createRandom, createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import fc from 'fast-check';
import { Dispatcher } from './dispatcher.js';
import type { DispatcherOptions } from './dispatcher.js';
import type { Delivery, Message } from './message-bus.js';

function message(key: string | null, n: number): Message {
  return { topic: 't', partition: 0, offset: String(n), key, value: Buffer.from(''), headers: {} };
}

function open(options: Partial<DispatcherOptions> & Pick<DispatcherOptions, 'consumer'>) {
  const clock = createVirtualClock();
  const parked: Message[] = [];
  const dispatcher = new Dispatcher({
    park: async (one) => void parked.push(one),
    clock,
    log: createSilentLog(),
    ...options,
  });
  return { clock, parked, dispatcher };
}

describe('the dispatcher', () => {
  it('settles each message once, in order within its key, with any failures and delays', async () => {
    const run = async (seed: number, keys: number, count: number): Promise<void> => {
      const random = createRandom(seed);
      const handled: string[] = [];
      const settled: number[] = [];
      const running = new Set<string>();
      const onMessage = async (one: Message): Promise<void> => {
        const key = one.key ?? '';
        expect(running.has(key)).toBe(false);
        running.add(key);
        expect(running.size).toBeLessThanOrEqual(4);
        for (let turns = random.below(4); turns > 0; turns -= 1) await Promise.resolve();
        running.delete(key);
        if (random.chance(0.4)) throw new Error('chance');
        handled.push(`${key}.${one.offset}`);
      };
      const { clock, parked, dispatcher } = open({
        consumer: { onMessage, concurrency: 4, inFlightMax: 8, attemptsMax: 3 },
      });
      const submitting = (async () => {
        for (let n = 0; n < count; n += 1) {
          await dispatcher.submit(message(`k${random.below(keys)}`, n), () => void settled.push(n));
          expect(dispatcher.inFlight).toBeLessThanOrEqual(8);
        }
      })();
      while (settled.length < count) await clock.advanceAsync(50);
      await submitting;
      expect([...settled].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, n) => n));
      const all = [...handled, ...parked.map((one) => `${one.key ?? ''}.${one.offset}`)];
      expect(new Set(all).size).toBe(count);
      for (let key = 0; key < keys; key += 1) {
        const offsets = handled.filter((one) => one.startsWith(`k${key}.`)).map((one) => Number(one.split('.')[1]));
        expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
      }
      expect([dispatcher.inFlight, clock.nextInMs()]).toEqual([0, undefined]);
    };
    await fc.assert(fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 40 }), run), {
      numRuns: 60,
    });
  });

  it('lets other keys run while one waits for its next try', async () => {
    const handled: string[] = [];
    const onMessage = (one: Message): void => {
      if (one.key === 'bad') throw new Error('no');
      handled.push(one.offset);
    };
    const { clock, dispatcher } = open({ consumer: { onMessage, concurrency: 1, attemptsMax: 1_000_000 } });
    void dispatcher.submit(message('bad', 0), () => undefined);
    for (let n = 1; n <= 3; n += 1) void dispatcher.submit(message('good', n), () => undefined);
    await clock.advanceAsync(0);
    expect(handled).toEqual(['1', '2', '3']);
    await dispatcher.stop();
    expect(clock.nextInMs()).toBeUndefined();
  });

  it('runs messages without a key side by side', async () => {
    let running = 0;
    const onMessage = async (): Promise<void> => {
      running += 1;
      await new Promise(() => undefined);
    };
    const { clock, dispatcher } = open({ consumer: { onMessage } });
    for (let n = 0; n < 3; n += 1) void dispatcher.submit(message(null, n), () => undefined);
    await clock.advanceAsync(0);
    expect(running).toBe(3);
  });

  it('does not settle a message that cannot be parked, and does not run its handler again', async () => {
    let [full, attempts, settled] = [true, 0, false];
    const log = createCollectingLog();
    const onMessage = (): void => {
      attempts += 1;
      throw new Error('no');
    };
    const park = async (): Promise<void> => {
      if (full) throw new Error('disk full');
    };
    const { clock, dispatcher } = open({ consumer: { onMessage, attemptsMax: 1 }, park, log });
    void dispatcher.submit(message('a', 1), () => (settled = true));
    await clock.advanceAsync(60_000);
    expect([settled, attempts]).toEqual([false, 1]);
    expect(log.entries.some(({ message: text }) => text.includes('disk full'))).toBe(true);
    full = false;
    await clock.advanceAsync(10_000);
    expect([settled, attempts]).toEqual([true, 1]);
  });

  it('takes a handler that ends because it is told to stop for no failure', async () => {
    const onMessage = (_: Message, { signal }: Delivery): Promise<void> =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')));
      });
    const { clock, parked, dispatcher } = open({ consumer: { onMessage, attemptsMax: 1 } });
    let settled = false;
    void dispatcher.submit(message('a', 1), () => (settled = true));
    await clock.advanceAsync(0);
    await dispatcher.stop();
    expect([parked, settled]).toEqual([[], false]);
  });

  it('lets a submitter that waits for room go when it stops', async () => {
    const { dispatcher, clock } = open({ consumer: { onMessage: () => new Promise(() => undefined), inFlightMax: 1 } });
    const room = dispatcher.submit(message('a', 1), () => undefined);
    expect(room).toBeInstanceOf(Promise);
    void dispatcher.stop();
    await room;
    await clock.advanceAsync(0);
    expect(dispatcher.stopping).toBe(true);
  });
});
