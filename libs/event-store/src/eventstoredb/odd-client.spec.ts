import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { systemClock } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import { EventStoreDamagedError, noStream } from '../event-store.js';
import type { EventStore } from '../event-store.js';
import { sampleEvents, sampleStream } from '../sample-events.js';
import type { ClientEvent, ClientPosition, EventStoreClient } from './client.js';
import { openEventStoreDb } from './event-store-db.js';
import { createStreamSubscription } from './stream-subscription.js';

const quiet: EventStoreClient = {
  append: () => Promise.resolve({ revision: 0n, position: undefined }),
  readStream: () => Promise.resolve([]),
  readLast: () => Promise.resolve([]),
  readAll: () => Promise.resolve({ events: [], isCut: false }),
  subscribeToAll: () => ({
    take: () => [],
    hasMore: () => false,
    onArrival: () => () => undefined,
    stop: () => undefined,
  }),
  dispose: () => Promise.resolve(),
};

async function withStore(client: Partial<EventStoreClient>, work: (store: EventStore) => Promise<void>): Promise<void> {
  const store = openEventStoreDb({
    url: 'esdb://nowhere',
    log: createCollectingLog(),
    clock: systemClock,
    timeouts: { appendMs: 50, readMs: 50 },
    connect: () => ({ ...quiet, ...client }),
  });
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

describe('an append to a server that answers oddly', () => {
  it('is refused when a deleted or truncated stream goes on counting where it was', () =>
    withStore({ append: () => Promise.resolve({ revision: 7n, position: undefined }) }, async (store) => {
      await expect(store.append(sampleStream(), noStream, sampleEvents(1))).rejects.toThrow(EventStoreDamagedError);
    }));

  it('is unknown when what was written cannot be found', () =>
    withStore({}, async (store) => {
      expect(await store.append(sampleStream(), noStream, sampleEvents(1))).toMatchObject({ status: 'unknown' });
    }));

  it('is unknown when another event was written there', () =>
    withStore({ readStream: (streamId) => Promise.resolve([{ ...foreign, streamId }]) }, async (store) => {
      expect(await store.append(sampleStream(), noStream, sampleEvents(1))).toMatchObject({ status: 'unknown' });
    }));

  it('is unknown when the client fails, and the store ends although the client does not end well', () => {
    const odd = new Error('odd');
    return withStore({ append: () => Promise.reject(odd), dispose: () => Promise.reject(odd) }, async (store) => {
      for (let count = 0; count < 4; count += 1) {
        expect(await store.append(sampleStream(), noStream, sampleEvents(1))).toMatchObject({ status: 'unknown' });
      }
    });
  });
});

const foreign: ClientEvent = {
  id: '00000000-0000-4000-8000-000000000000',
  type: 'SomethingElse',
  streamId: '',
  revision: 0n,
  data: {},
  metadata: {},
  created: new Date(0),
  position: { commit: 1n, prepare: 1n },
};

describe('a read whose client is replaced meanwhile', () => {
  it('is made again: an old client that ends it early has not said that nothing follows', async () => {
    const cutOff = Promise.withResolvers<readonly ClientEvent[]>();
    const stream = sampleStream();
    const old: EventStoreClient = {
      ...quiet,
      append: () => Promise.reject(new Error('odd')),
      readStream: () => cutOff.promise,
      dispose: async () => {
        cutOff.resolve([]);
      },
    };
    const metadata = { tenant: 'default', commandId: 'command', schemaVersion: 1 };
    const recorded = { ...foreign, streamId: stream, revision: 0n, metadata };
    const clients = [old, { ...quiet, readStream: () => Promise.resolve([recorded]) }];
    const [log, clock] = [createCollectingLog(), systemClock];
    const seen = { leader: { host: 'nowhere', port: 2113 }, hasLeaderAnswered: true, answered: 1, asked: 1 };
    const unknown = (): Promise<undefined> => Promise.resolve(undefined);
    const members = { look: () => Promise.resolve(seen), version: unknown, time: unknown };
    const connect = (): EventStoreClient => clients.shift() ?? quiet;
    const store = openEventStoreDb({ url: 'esdb://nowhere', log, clock, connect, members });
    const reading = store.readStream(stream);
    // After three failures in a row without a response, a new client asks a server that responds to others.
    await Promise.all([1, 2, 3].map(() => store.append(sampleStream(), noStream, sampleEvents(1))));
    expect(await reading).toHaveLength(1);
    await store.close();
  });
});

describe("a subscription over the client's stream", () => {
  const at = (commit: bigint): ClientPosition => ({ commit, prepare: commit });

  it('keeps signals behind the events that came before them', async () => {
    const stream = new Readable({ objectMode: true, read: () => undefined });
    const subscription = createStreamSubscription(() => ({
      stream,
      toEvent: (read) => (read === 'link' ? undefined : { ...foreign, type: String(read) }),
      cancel: () => Promise.resolve(),
    }));
    expect(subscription.hasMore()).toBe(false);
    stream.push('one');
    stream.push('link');
    stream.push('two');
    stream.emit('caughtUp');
    subscription.checkpointReached(at(9n));
    stream.push('three');
    await delay(1);
    const kinds = subscription.take(10).map((item) => (item.kind === 'event' ? item.event.type : item.kind));
    expect(kinds).toEqual(['one', 'two', 'caught-up', 'checkpoint', 'three']);
  });

  it.each(['end', 'close', 'error'])('is over once everything before its %s is taken', async (how) => {
    const stream = new Readable({ objectMode: true, read: () => undefined });
    const subscription = createStreamSubscription(() => ({
      stream,
      toEvent: () => foreign,
      cancel: () => Promise.reject(new Error()),
    }));
    stream.push('one');
    await delay(1);
    stream.emit(how, new Error('broken'));
    expect(subscription.take(1)).toHaveLength(1);
    expect(() => subscription.take(1)).toThrow();
    await new Promise<void>((resolve) => void subscription.onArrival(resolve));
    subscription.stop();
  });

  it('ignores a reader that stopped waiting', async () => {
    const stream = new Readable({ objectMode: true, read: () => undefined });
    const subscription = createStreamSubscription(() => ({
      stream,
      toEvent: () => foreign,
      cancel: () => Promise.resolve(),
    }));
    let woken = 0;
    subscription.onArrival(() => (woken += 1))();
    stream.push('one');
    await delay(1);
    expect(woken).toBe(0);
  });
});
