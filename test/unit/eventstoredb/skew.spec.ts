import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { createDecidingClock, EventStoreUnavailableError, noStream } from '@countersign/event-store';
import { sampleEvents, sampleStream } from '@countersign/event-store/testing';
import { cleanUpAfterEach, openReadyStore, openStore, patient, startServer, until } from './harness.js';

cleanUpAfterEach();

const minutesMs = 600_000;
const message = "this machine's clock and the event store's differ";

describe("the clock of a store whose machine's clock differs", () => {
  it.each([minutesMs, -minutesMs])('knows without any append that the server is %d ms ahead', async (clockAheadMs) => {
    const server = await startServer();
    server.setFaults({ clockAheadMs });
    const { store, log } = openStore(server.url, patient);
    await until(() => log.entries.some((entry) => entry.message === message), 'the warning');
    expect(Math.abs(store.clock.now() - Date.now() - clockAheadMs)).toBeLessThan(10_000);
    expect(Math.abs(store.clock.aheadMs() + clockAheadMs)).toBeLessThan(10_000);
    expect(store.clock.problem()).toMatch(clockAheadMs > 0 ? /behind the event store's/ : /ahead of the event store's/);
    expect([store.clock.doubt(), store.health()]).toEqual([undefined, { status: 'ok' }]);
    for (let count = 0; count < 3; count += 1) {
      expect(await store.append(sampleStream(), noStream, sampleEvents(1))).toMatchObject({ status: 'committed' });
    }
    // Exact from the first append on.
    expect(Math.abs(store.clock.now() - Date.now() - clockAheadMs)).toBeLessThan(10_000);
    expect(log.entries.filter((entry) => entry.message === message)).toHaveLength(1);
  });

  it('is asked at once when an append was recorded at another time, and follows the server', async () => {
    const server = await startServer();
    const { store, log } = await openReadyStore(server.url, patient);
    expect(store.clock.problem()).toBeUndefined();
    server.setFaults({ clockAheadMs: 15_000 });
    expect(await store.append(sampleStream(), noStream, sampleEvents(1))).toMatchObject({ status: 'committed' });
    await until(() => store.clock.problem()?.includes('behind') === true, 'the difference');
    server.setFaults({});
    await store.append(sampleStream(), noStream, sampleEvents(1));
    await until(() => store.clock.problem() === undefined, 'the end of the difference');
    const told = log.entries.filter((entry) => entry.message.includes('clock'));
    expect(told.map(({ level }) => level)).toEqual(['warn', 'info']);
  });

  it.each([minutesMs, -minutesMs, 0])(
    'is learned from an append where responses have no Date header: the server is %d ms ahead',
    async (clockAheadMs) => {
      const server = await startServer();
      server.setFaults({ clockAheadMs, undated: true });
      const { store } = openStore(server.url, patient);
      await until(() => store.clock.doubt() === undefined, 'the time');
      expect(Math.abs(store.clock.now() - Date.now() - clockAheadMs)).toBeLessThan(10_000);
      expect(store.clock.problem() === undefined).toBe(clockAheadMs === 0);
      await until(() => store.health().status === 'ok', 'the store');
      await store.append(sampleStream(), noStream, sampleEvents(1));
      expect(Math.abs(store.clock.now() - Date.now() - clockAheadMs)).toBeLessThan(10_000);
      // Its own events are few, and none of the log.
      await delay(200);
      expect(server.calls.filter((call) => call === 'Streams/Append').length).toBeLessThanOrEqual(4);
      expect(await store.readAll(0, 10)).toHaveLength(1);
    },
  );

  it('is not known, and the store not healthy, before the server has told its time', async () => {
    const server = await startServer();
    server.setFaults({ gossip: 'hang' });
    const { store } = openStore(server.url, patient);
    await store.head();
    await delay(100);
    const why = 'the event store has not told its time yet';
    expect(store.health()).toEqual({ status: 'unavailable', why });
    expect(() => createDecidingClock(store.clock).now()).toThrow(new EventStoreUnavailableError(why));
    server.setFaults({});
    await until(() => store.health().status === 'ok', 'the time');
  });
});
