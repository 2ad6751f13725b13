import { setTimeout as delay } from 'node:timers/promises';
import type { RecordedEvent } from '@countersign/contracts';
import { sampleEvents } from '@countersign/event-store/testing';
import type { Applied } from '@countersign/read-model';
import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';
import { describe, expect, it } from '@jest/globals';
import { createEventFeed } from './event-feed.js';
import type { EventSink } from './event-reader.js';
import { createQuota } from './limits/quota.js';
import type { GatewayPorts } from './ports.js';
import { actorOf } from './testing/world.js';

/** A log of the given number of events, whose readers are notified when `apply` is called. */
function createLog() {
  const events: RecordedEvent[] = [];
  let listener: (applied: Applied) => void = () => undefined;
  let reads = 0;
  const sizes: number[] = [];
  return {
    /** The number of events that each read requested. */
    sizes: () => sizes,
    reads: () => reads,
    record: (count: number) => {
      for (let n = 0; n < count; n += 1) {
        const [sample] = sampleEvents(1);
        if (sample === undefined) throw new Error('no sample');
        const metadata = { ...sample.metadata, tenant: 'default' };
        const position = events.length + 1;
        events.push({
          ...sample,
          metadata,
          stream: 's',
          revision: 0,
          position,
          recordedAt: '2030-01-01T00:00:00.000Z',
        });
      }
    },
    /** The read model applies what it has not. */
    apply: (count: number) => {
      const from = applied;
      applied += count;
      listener({ events: events.slice(from, applied), callIds: [], position: applied });
    },
    ports: (clock: GatewayPorts['clock']) =>
      ({
        clock,
        log: createCollectingLog(),
        quota: createQuota(500, 'event streams'),
        readModel: {
          checkpoint: () => applied,
          onApplied: (fn: typeof listener) => {
            listener = fn;
            return () => undefined;
          },
          toolCall: () => undefined,
          places: { upTo: (position: number) => position },
        },
        tokens: {},
        store: {
          readAll: (after: number, limit: number) => {
            reads += 1;
            sizes.push(limit);
            return Promise.resolve(events.slice(after, after + limit));
          },
        },
      }) as unknown as Parameters<typeof createEventFeed>[0],
  };
}
let applied = 0;

/** A socket that is full after a number of writes, until it is drained. */
function createSink(roomFor: number) {
  const written: string[] = [];
  let room = roomFor;
  let [drain, close] = [(): void => undefined, (): void => undefined];
  let isEnded = false;
  const sink: EventSink = {
    write: (text) => {
      written.push(text);
      room -= 1;
      return room > 0;
    },
    onDrain: (fn) => (drain = fn),
    onClose: (fn) => (close = fn),
    end: () => (isEnded = true),
  };
  const ids = () => written.flatMap((text) => /^id: (\d+)\nevent/.exec(text)?.[1] ?? []).map(Number);
  return {
    sink,
    written,
    ids,
    isEnded: () => isEnded,
    drain: (more: number) => {
      room = more;
      drain();
    },
    close: () => close(),
  };
}

const open = (roomFor: number, shown: number, recorded = shown) => {
  const clock = createVirtualClock();
  const log = createLog();
  log.record(recorded);
  applied = shown;
  const feed = createEventFeed(log.ports(clock));
  const socket = createSink(roomFor);
  const sender = { isProved: true };
  feed.open(
    actorOf('auditor-token'),
    { after: 0 },
    () => socket.sink,
    () => Promise.resolve(sender.isProved),
  );
  return { clock, log, feed, socket, sender };
};
const positions = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

async function eventually(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 20_000 && !isSo(); tries += 1) await delay(5);
  expect(isSo()).toBe(true);
}

describe('a full socket', () => {
  it('is written nothing until it drains, however much is recorded meanwhile', async () => {
    const { log, socket } = open(4, 10);
    await delay(10);
    expect(socket.ids()).toEqual([1, 2, 3]);
    const reads = log.reads();
    log.record(500);
    log.apply(500);
    await delay(10);
    expect([socket.ids(), log.reads()]).toEqual([[1, 2, 3], reads]);
    socket.drain(Infinity);
    await delay(50);
    expect(socket.ids()).toEqual(positions(1, 510));
  });

  it('gets no heartbeats, and is closed when it stays full for more than a minute', async () => {
    const { clock, feed, socket } = open(4, 10);
    await delay(10);
    const before = socket.written.length;
    clock.advance(60_000);
    expect([socket.written.length, socket.isEnded(), feed.count()]).toEqual([before, false, 1]);
    clock.advance(15_000);
    expect([socket.written.length, socket.isEnded(), feed.count()]).toEqual([before, true, 0]);
  });
});

describe('a reader that is behind', () => {
  it('holds no page while its socket is full, and reads smaller ones until it is faster', async () => {
    const { log, socket } = open(2, 1000);
    const sizes = log.sizes();
    await delay(20);
    expect(sizes).toEqual([10]);
    socket.drain(2);
    await delay(20);
    expect(sizes).toEqual([10, 1, 2]);
    expect(socket.ids()).toEqual([1, 2, 3]);
    socket.drain(Infinity);
    await delay(100);
    expect(socket.ids()).toEqual(positions(1, 1000));
    expect(Math.max(...sizes)).toBe(100);
  });

  it('gets its turn although another principal has hundreds of streams that are behind', async () => {
    const clock = createVirtualClock();
    const log = createLog();
    log.record(1000);
    applied = 1000;
    const feed = createEventFeed(log.ports(clock));
    const told: string[] = [];
    const openFor = (token: string): void => {
      const { sink } = createSink(Infinity);
      const write = (text: string): boolean => {
        if (text.startsWith('id: ')) told.push(token);
        return sink.write(text);
      };
      feed.open(
        actorOf(token),
        { after: 0 },
        () => ({ ...sink, write }),
        () => Promise.resolve(true),
      );
    };
    for (let stream = 0; stream < 200; stream += 1) openFor('auditor-token');
    openFor('admin-token');
    await eventually(() => told.filter((token) => token === 'admin-token').length === 1000);
    const before = told.slice(0, told.lastIndexOf('admin-token'));
    expect(before.length).toBeLessThan(10_000);
    feed.close();
  });
});

describe('a reader that is up to date', () => {
  it('gets what was just applied without a read of the store', async () => {
    const { log, socket } = open(Infinity, 5);
    await delay(10);
    const reads = log.reads();
    for (let n = 0; n < 20; n += 1) {
      log.record(3);
      log.apply(3);
      await delay(1);
    }
    expect(socket.ids()).toEqual(positions(1, 65));
    expect(log.reads()).toBe(reads);
  });

  it('misses nothing when more is applied before it had its turn', async () => {
    const { log, socket } = open(Infinity, 5);
    await delay(10);
    log.record(300);
    for (const count of [1, 1, 150, 148]) log.apply(count);
    await delay(30);
    expect(socket.ids()).toEqual(positions(1, 305));
  });

  it('is not told what reads do not show yet', async () => {
    const { log, socket } = open(Infinity, 5, 10);
    await delay(20);
    expect(socket.ids()).toEqual(positions(1, 5));
    log.apply(5);
    await delay(20);
    expect(socket.ids()).toEqual(positions(1, 10));
  });

  it('gets a heartbeat every 15 seconds', async () => {
    const { clock, socket } = open(Infinity, 0);
    await delay(5);
    clock.advance(45_000);
    expect(socket.written.filter((text) => text === ': heartbeat\n\n')).toHaveLength(3);
  });
});

it('a reader that is no longer who it was is closed at the next heartbeat', async () => {
  const { clock, feed, socket, sender } = open(Infinity, 5);
  await delay(5);
  clock.advance(15_000);
  await delay(5);
  expect([socket.isEnded(), feed.count()]).toEqual([false, 1]);
  sender.isProved = false;
  clock.advance(15_000);
  await delay(5);
  expect([socket.isEnded(), feed.count()]).toEqual([true, 0]);
});

it('a reader that has gone is read for no more, and a broken store ends its stream', async () => {
  const { log, socket, feed, clock } = open(Infinity, 1000);
  socket.close();
  await delay(20);
  expect([feed.count(), log.reads() <= 1]).toEqual([0, true]);
  const broken = { ...log.ports(clock), store: { readAll: () => Promise.reject(new Error('damaged')) } };
  const other = createEventFeed(broken as unknown as Parameters<typeof createEventFeed>[0]);
  const stream = createSink(Infinity);
  other.open(
    actorOf('auditor-token'),
    { after: 0 },
    () => stream.sink,
    () => Promise.resolve(true),
  );
  await delay(20);
  expect([stream.isEnded(), other.count()]).toEqual([true, 0]);
});
