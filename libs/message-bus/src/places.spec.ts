import { createRandom, createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import fc from 'fast-check';
import { Dispatcher } from './dispatcher.js';
import type { DispatcherOptions } from './dispatcher.js';
import { EarlyMessageError } from './message-bus.js';
import type { Delivery, Message, Place } from './message-bus.js';

let next = 0;
/** A message `<holder>/<lane>/<text>`. */
function message(name: string, bytes = 0): Message {
  const headers = { ce_id: name };
  return { topic: 't', partition: 0, offset: String((next += 1)), key: 'same', value: Buffer.of(), headers, bytes };
}
const nameOf = ({ headers }: Message): string => headers['ce_id'] ?? '';
const placeOf = async (one: Message): Promise<Place> => {
  const [holder = '', lane = ''] = nameOf(one).split('/');
  return { holder, lane };
};

function open(consumer: DispatcherOptions['consumer']) {
  const clock = createVirtualClock();
  const parked: string[] = [];
  const park = async (one: Message): Promise<void> => void parked.push(nameOf(one));
  const dispatcher = new Dispatcher({ consumer: { placeOf, ...consumer }, park, clock, log: createSilentLog() });
  const submit = (...names: readonly string[]): void => {
    for (const name of names) void dispatcher.submit(message(name), () => undefined);
  };
  return { clock, parked, dispatcher, submit };
}

describe('the turns of the holders', () => {
  it('let a message of one holder run before thousands of another one that came first', async () => {
    const handled: string[] = [];
    const onMessage = async (one: Message): Promise<void> => {
      await new Promise<void>((resolve) => clock.setTimer(1, resolve));
      handled.push(nameOf(one));
    };
    const { clock, submit } = open({ onMessage, concurrency: 4 });
    submit(...Array.from({ length: 2000 }, (_, n) => `many/${String(n)}/x`), 'few/run/1', 'few/run/2', 'other/run/1');
    await clock.advanceAsync(1000);
    expect(handled).toHaveLength(2003);
    // Those that ran already, and then one of each holder in turn.
    const placeOfLast = Math.max(...['few/run/1', 'few/run/2', 'other/run/1'].map((name) => handled.indexOf(name)));
    expect(placeOfLast).toBeLessThan(20);
  });

  it('keep messages of the same lane name apart, of two holders', async () => {
    const handled: string[] = [];
    const onMessage = (one: Message): Promise<void> | void => {
      if (nameOf(one).startsWith('evil')) return new Promise(() => undefined);
      handled.push(nameOf(one));
    };
    const { clock, submit } = open({ onMessage });
    submit('evil/run-1/hangs', 'good/run-1/1', 'good/run-1/2');
    await clock.advanceAsync(0);
    expect(handled).toEqual(['good/run-1/1', 'good/run-1/2']);
  });

  it('make a holder beyond its rate wait, and no other; nothing is lost', async () => {
    const handled: string[] = [];
    let left = 3;
    const takeTurn = (holder: string): number => {
      if (holder !== 'many') return 0;
      left -= 1;
      if (left >= 0) return 0;
      left = 3;
      return 1000;
    };
    const { clock, submit, dispatcher } = open({ onMessage: (one) => void handled.push(nameOf(one)), takeTurn });
    submit(...Array.from({ length: 8 }, (_, n) => `many/run/${String(n)}`), 'few/run/1');
    await clock.advanceAsync(0);
    expect(handled.toSorted()).toEqual(['few/run/1', 'many/run/0', 'many/run/1', 'many/run/2']);
    await clock.advanceAsync(1000);
    expect(handled).toHaveLength(7);
    await clock.advanceAsync(1000);
    expect([handled.length, dispatcher.inFlight, clock.nextInMs()]).toEqual([9, 0, undefined]);
  });

  it('keep the order of a lane, however long it takes to find each place', async () => {
    const handled: string[] = [];
    const clock = createVirtualClock();
    const late = async (one: Message): Promise<Place> => {
      const ms = Number(nameOf(one).split('/')[2]) % 3;
      await new Promise<void>((resolve) => clock.setTimer(ms === 0 ? 50 : 1, resolve));
      return placeOf(one);
    };
    const consumer = { onMessage: (one: Message) => void handled.push(nameOf(one)), placeOf: late };
    const dispatcher = new Dispatcher({ consumer, park: async () => undefined, clock, log: createSilentLog() });
    const names = Array.from({ length: 30 }, (_, n) => `a/run/${String(n)}`);
    for (const name of names) void dispatcher.submit(message(name), () => undefined);
    await clock.advanceAsync(1000);
    expect(handled).toEqual(names);
  });
});

describe('the memory of a group', () => {
  it('is bounded in bytes: reading pauses, and goes on when a message is settled', async () => {
    const running: (() => void)[] = [];
    const onMessage = (): Promise<void> => new Promise((resolve) => running.push(resolve));
    const { clock, dispatcher } = open({ onMessage, inFlightBytesMax: 100 });
    expect(dispatcher.submit(message('a/1/x', 60), () => undefined)).toBeUndefined();
    let isRead = false;
    const room = dispatcher.submit(message('a/2/x', 60), () => undefined);
    void room?.then(() => (isRead = true));
    await clock.advanceAsync(0);
    expect([room instanceof Promise, isRead]).toEqual([true, false]);
    running[0]?.();
    await clock.advanceAsync(0);
    expect([isRead, dispatcher.inFlight]).toEqual([true, 1]);
  });

  it('takes a single message that is larger than the bound', async () => {
    const handled: string[] = [];
    const { clock, dispatcher } = open({ onMessage: (one) => void handled.push(nameOf(one)), inFlightBytesMax: 10 });
    await Promise.all([dispatcher.submit(message('a/1/x', 1000), () => undefined), clock.advanceAsync(0)]);
    expect(handled).toEqual(['a/1/x']);
  });
});

describe('a message that came too early', () => {
  /** Waits for `created`, as long as it has tries; then it is given up. */
  function early(created: ReadonlySet<string>, handled: string[]) {
    return (one: Message, { attempt, isBehind }: Delivery): void => {
      const [, , text = ''] = nameOf(one).split('/');
      const [what, subject] = text.split(':');
      if (what === 'about' && subject !== undefined) {
        const isMissing = isBehind(subject) || (!created.has(subject) && attempt < 4);
        if (isMissing) throw new EarlyMessageError(subject, 'not yet');
      }
      handled.push(`${text}${created.has(subject ?? '') ? '' : ' too early'}`);
    };
  }

  it('holds up no other message of its lane', async () => {
    const handled: string[] = [];
    const { clock, submit, dispatcher } = open({ onMessage: early(new Set(), handled) });
    submit(...Array.from({ length: 10 }, (_, n) => `a/run/about:${String(n)}`), 'a/run/other');
    await clock.advanceAsync(0);
    expect(handled).toEqual(['other too early']);
    await clock.advanceAsync(60_000);
    expect([handled.length, dispatcher.inFlight, clock.nextInMs()]).toEqual([11, 0, undefined]);
  });

  it('is handled before the later ones about the same subject, whenever that comes', async () => {
    for (const afterMs of [1, 99, 100, 101, 150, 299, 301, 500]) {
      const [handled, created]: [string[], Set<string>] = [[], new Set()];
      const { clock, submit } = open({ onMessage: early(created, handled) });
      submit('a/run/about:c', 'a/run/about:d');
      await clock.advanceAsync(50);
      submit('a/run/about:c');
      await clock.advanceAsync(afterMs);
      created.add('c');
      submit('a/run/about:c', 'a/run/about:c');
      await clock.advanceAsync(60_000);
      expect(handled.filter((text) => text.startsWith('about:c'))).toEqual(Array.from({ length: 4 }, () => 'about:c'));
    }
  });

  it('gives the later ones about the same subject no more time than it had itself', async () => {
    const handled: string[] = [];
    const { clock, submit } = open({ onMessage: early(new Set(), handled) });
    submit(...Array.from({ length: 100 }, () => 'a/run/about:c'));
    await clock.advanceAsync(1000);
    expect(handled).toHaveLength(100);
  });

  it('settles once and in order about its subject, with any delays and other messages', async () => {
    const run = async (seed: number, count: number): Promise<void> => {
      const random = createRandom(seed);
      const [created, order]: [Set<string>, string[]] = [new Set(), []];
      const settled: string[] = [];
      const onMessage = async (one: Message, { attempt, isBehind }: Delivery): Promise<void> => {
        const [holder = '', lane = '', subject = ''] = nameOf(one).split('/');
        for (let turns = random.below(3); turns > 0; turns -= 1) await Promise.resolve();
        const key = `${holder}/${lane}/${subject}`;
        if (isBehind(subject) || (!created.has(key) && attempt < 4)) throw new EarlyMessageError(subject, 'not yet');
        order.push(nameOf(one));
      };
      const { clock, dispatcher } = open({ onMessage, concurrency: 2 });
      const sent = Array.from({ length: count }, (_, n) => {
        const parts = [random.below(2), random.below(2), random.below(3)].map(String);
        return `${parts.join('/')}/${String(n)}`;
      });
      for (const name of sent) {
        void dispatcher.submit(message(name), () => void settled.push(name));
        if (random.chance(0.2)) created.add(name.split('/').slice(0, 3).join('/'));
        if (random.chance(0.5)) await clock.advanceAsync(random.below(200));
      }
      await clock.advanceAsync(10_000);
      expect(settled.toSorted()).toEqual(sent.toSorted());
      expect([dispatcher.inFlight, clock.nextInMs()]).toEqual([0, undefined]);
      const bySubject = (names: readonly string[]) =>
        Map.groupBy(names, (name) => name.split('/').slice(0, 3).join('/'));
      const [wanted, found] = [bySubject(sent), bySubject(order)];
      for (const [subject, names] of wanted) expect(found.get(subject)).toEqual(names);
    };
    await fc.assert(fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 30 }), run), { numRuns: 200 });
  });
});
