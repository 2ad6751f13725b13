import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { EventStore } from '@countersign/event-store';
import { noStream } from '@countersign/event-store';
import { sampleEvent, sampleEvents, sampleStream } from '@countersign/event-store/testing';
import { openServerLog } from '../../eventstoredb-server/log.ts';
import { metadataLikeOurs, writeForeign } from './foreign-events.js';
import { cleanUpAfterEach, onCleanUp, openReadyStore, patient, startServer, until } from './harness.js';

cleanUpAfterEach();

interface Watch {
  readonly seen: number[];
  readonly errors: unknown[];
  caughtUp: number;
}

/** Subscribes until the end of the test. */
function watch(store: EventStore, after = 0, onEvents?: () => Promise<void>): Watch {
  const watched: Watch = { seen: [], errors: [], caughtUp: 0 };
  const subscription = store.subscribe(after, {
    onEvents: (events) => {
      watched.seen.push(...events.map(({ position }) => position));
      return onEvents?.();
    },
    onCaughtUp: () => {
      watched.caughtUp += 1;
    },
    onError: (error) => watched.errors.push(error),
  });
  onCleanUp(subscription.stop);
  return watched;
}

const positionsOf = async (store: EventStore): Promise<readonly number[]> =>
  (await store.readAll(0, 10_000)).map(({ position }) => position);

describe('a subscription', () => {
  it('goes on after the server has dropped it, without gap or repeat', async () => {
    const server = await startServer();
    const { store, log } = await openReadyStore(server.url, patient);
    const watched = watch(store);
    for (let round = 1; round <= 4; round += 1) {
      const [stream, events] = [sampleStream(), sampleEvents(3)];
      await store.append(stream, noStream, events);
      await until(() => watched.seen.length === round * 3 && watched.caughtUp > 0, 'the events of the round');
      const before = watched.caughtUp;
      // On a busy machine the client itself may have begun again.
      await until(() => server.dropSubscriptions() > 0, 'a subscription to drop');
      await until(() => watched.caughtUp > before, 'catching up again');
    }
    expect(watched.seen).toEqual(await positionsOf(store));
    expect(log.entries.some(({ message }) => message.includes('resumed'))).toBe(true);
  });

  it('goes on over restarts of the server under load', async () => {
    const kept = openServerLog();
    onCleanUp(kept.close);
    let server = await startServer({ log: kept });
    const { store } = await openReadyStore(server.url, { timeouts: { appendMs: 2_000, readMs: 100_000 } });
    const watched = watch(store);
    const over = new AbortController();
    const appending = (async () => {
      while (!over.signal.aborted) {
        await store.append(sampleStream(), noStream, sampleEvents(2)).catch(() => delay(10));
      }
    })();
    for (let restart = 0; restart < 4; restart += 1) {
      await delay(80);
      server.stop();
      server = await startServer({ port: server.port, log: kept });
    }
    await delay(80);
    over.abort();
    await appending;
    await store.append(sampleStream(), noStream, sampleEvents(1)).catch(() => undefined);
    const last = await store.head();
    await until(() => watched.seen.at(-1) === last, 'the last event');
    expect(watched.seen).toEqual(await positionsOf(store));
    expect(watched.errors).toEqual([]);
  });

  it('is tried again while the server refuses it', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    await store.append(sampleStream(), noStream, sampleEvents(1));
    server.setFaults({ subscriptions: 'refused', times: 3 });
    const watched = watch(store);
    await until(() => watched.seen.length === 1, 'the event');
  });

  it('is tried again when it was confirmed and then brings nothing', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, { timeouts: { ...patient.timeouts, silenceMs: 150 } });
    await store.append(sampleStream(), noStream, sampleEvents(1));
    server.setFaults({ subscriptions: 'silent', times: 1 });
    const watched = watch(store);
    await until(() => watched.seen.length === 1 && watched.caughtUp === 1, 'the event');
  });

  it('delivers each event once, also when the server repeats some', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    await store.append(sampleStream(), noStream, sampleEvents(3));
    server.setFaults({ subscriptions: 'from-the-start' });
    const [first] = await positionsOf(store);
    const watched = watch(store, first);
    await until(() => watched.caughtUp === 1, 'catching up');
    expect(watched.seen).toEqual((await positionsOf(store)).slice(1));
  });

  it('stays while there is nothing to bring', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, { timeouts: { ...patient.timeouts, silenceMs: 2_000 } });
    const watched = watch(store);
    await until(() => watched.caughtUp === 1, 'catching up');
    // Longer than the silence that starts another one.
    await delay(5_000);
    expect(server.calls.filter((call) => call.endsWith('subscription'))).toHaveLength(1);
    expect(watched.caughtUp).toBe(1);
  });

  it('says that it has caught up to a server that does not', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    await store.append(sampleStream(), noStream, sampleEvents(2));
    server.setFaults({ subscriptions: 'without-caught-up' });
    const watched = watch(store);
    await until(() => watched.caughtUp === 1, 'catching up');
    expect(watched.seen).toHaveLength(2);
  });

  it.each(['without-caught-up', 'silent'] as const)(
    'to some streams begins again after a silence: %s',
    async (fault) => {
      const server = await startServer();
      const { store } = await openReadyStore(server.url, { timeouts: { silenceMs: 1500 } });
      const [stream, other] = [sampleStream(), sampleStream()];
      server.setFaults({ subscriptions: fault, times: 1 });
      let caughtUp = 0;
      const seen: string[] = [];
      const subscription = store.subscribe(0, {
        streams: [stream],
        onEvents: (events) => void seen.push(...events.map((event) => event.stream)),
        onCaughtUp: () => (caughtUp += 1),
        onError: (error) => seen.push(String(error)),
      });
      onCleanUp(subscription.stop);
      await store.append(other, noStream, sampleEvents(1));
      await until(() => caughtUp > 0, 'catching up');
      await until(
        () => server.calls.filter((call) => call.endsWith('subscription')).length > 1,
        'another subscription',
      );
      await store.append(stream, noStream, sampleEvents(1));
      await until(() => seen.length > 0, 'the event');
      expect(seen).toEqual([stream]);
    },
  );

  it('waits while the store cannot be read, and for ever', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    await store.append(sampleStream(), noStream, sampleEvents(1));
    server.setFaults({ read: 'unavailable' });
    const watched = watch(store);
    await delay(200);
    server.setFaults({});
    await until(() => watched.seen.length === 1, 'the event');
    expect(watched.errors).toEqual([]);
  });

  it('refuses a position after the end of the log', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    await store.append(sampleStream(), noStream, sampleEvents(1));
    const watched = watch(store, (await store.head()) + 1000);
    await until(() => watched.errors.length > 0, 'the error');
    expect(watched.errors).toEqual([expect.any(RangeError)]);
  });

  it('ends when the log is put back to an older state meanwhile', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    await store.append(sampleStream(), noStream, sampleEvents(5));
    const watched = watch(store);
    await until(() => watched.caughtUp === 1, 'catching up');
    server.log.rewind(0);
    server.dropSubscriptions();
    await until(() => watched.errors.length > 0, 'the error');
    expect(watched.errors).toEqual([expect.any(RangeError)]);
  });

  it('passes over the events of others, and does not look at them again', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    await store.append(sampleStream(), noStream, sampleEvents(1));
    writeForeign(server, 'policy-somebody-else', { metadata: 'not JSON' });
    for (let count = 0; count < 3300; count += 1) writeForeign(server, 'orders-1');
    const watched = watch(store);
    await until(() => watched.caughtUp === 1, 'catching up');
    const firstForwards: number[] = [];
    const readAll = server.log.readAll.bind(server.log);
    Object.assign(server.log, {
      readAll: (...args: Parameters<typeof readAll>) => {
        // One event alone is the look whether the last one is still there.
        if (args[1] === 'forwards' && args[2] > 1) firstForwards.push(args[0]);
        return readAll(...args);
      },
    });
    server.dropSubscriptions();
    await until(() => watched.caughtUp === 2, 'catching up again');
    // The start of the server's search, beyond most of the previous one.
    const end = server.log.readAll(Number.MAX_SAFE_INTEGER, 'backwards', 1)[0]?.position ?? 0;
    expect(firstForwards[0]).toBeGreaterThan(end / 2);
    expect(watched.seen).toHaveLength(1);
    expect(watched.errors).toEqual([]);
  });

  it('delivers an event of ours that cannot be read as such, in its place, and goes on', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    const position = writeForeign(server, sampleStream(), { data: 'not JSON', metadata: metadataLikeOurs });
    await store.append(sampleStream(), noStream, sampleEvents(1));
    const watched = watch(store);
    await until(() => watched.seen.length > 1, 'the events');
    expect(watched.errors).toEqual([]);
    expect(watched.seen[0]).toBe(position);
    const why: unknown = expect.stringContaining('not a JSON object');
    expect(await store.readAll(0, 10)).toMatchObject([{ position, unreadable: why }, { type: 'ToolCallCancelled' }]);
  });

  it('holds the server back while its handler is slow', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    const large = 'x'.repeat(50_000);
    for (let count = 0; count < 60; count += 1) {
      await store.append(
        sampleStream(),
        noStream,
        Array.from({ length: 10 }, () => sampleEvent(large)),
      );
    }
    const end = await store.head();
    let sentUpTo = 0;
    const readAll = server.log.readAll.bind(server.log);
    Object.assign(server.log, {
      readAll: (...args: Parameters<typeof readAll>) => {
        if (args[1] === 'forwards') sentUpTo = Math.max(sentUpTo, args[0]);
        return readAll(...args);
      },
    });
    let [isHeld, release] = [true, (): void => undefined];
    onCleanUp(() => release());
    const watched = watch(store, 0, async () => {
      if (isHeld) await new Promise<void>((resolve) => (release = resolve));
    });
    await until(() => watched.seen.length > 0, 'the first batch');
    await delay(200);
    // Half of 30 MB. The buffers of the kernel alone were seen to hold 9 MB.
    expect(sentUpTo).toBeLessThan(end / 2);
    isHeld = false;
    release();
    await until(() => watched.seen.length === 600, 'all of them');
    await until(() => watched.caughtUp >= 1, 'catching up');
  });
});
