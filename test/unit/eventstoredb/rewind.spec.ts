import { describe, expect, it } from '@jest/globals';
import { EventStoreRewoundError, isStoreOutage, noStream } from '@countersign/event-store';
import { sampleEvents, sampleStream } from '@countersign/event-store/testing';
import { writeForeign } from './foreign-events.js';
import { cleanUpAfterEach, openReadyStore, patient, startServer, until } from './harness.js';

cleanUpAfterEach();

const timeouts = { ...patient.timeouts, probeMs: 50 };

describe('a log that is put back to an older state under a running process', () => {
  it.each([true, false])('is noticed, and nothing is written any more (write only: %s)', async (writeOnly) => {
    const server = await startServer();
    const { store, log } = await openReadyStore(server.url, { writeOnly, timeouts });
    const write = () => store.append(sampleStream(), noStream, sampleEvents(1));
    for (let count = 0; count < 3; count += 1) await write();
    const subscription = store.subscribe(0, { onEvents: () => undefined, onError: () => undefined });
    const older = (await store.readAll(0, 1))[0]?.position ?? 0;
    await until(() => server.calls.some((call) => call.endsWith('subscription')), 'the subscription');
    server.log.rewind(older);
    await until(() => JSON.stringify(store.health()).includes('put back to an older state'), 'the reason');
    const appends = server.calls.filter((call) => call === 'Streams/Append').length;
    const refusal: unknown = await write().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(EventStoreRewoundError);
    expect(isStoreOutage(refusal)).toBe(true);
    expect(server.calls.filter((call) => call === 'Streams/Append')).toHaveLength(appends);
    expect(log.entries.filter(({ level }) => level === 'error')).toHaveLength(1);
    await subscription.stop();
  });

  it('grants nothing before it is noticed: an append that lands before what was seen is not acknowledged', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, { timeouts: { ...timeouts, probeMs: 3_600_000 } });
    const write = () => store.append(sampleStream(), noStream, sampleEvents(1));
    for (let count = 0; count < 3; count += 1) await write();
    server.log.rewind((await store.readAll(0, 1))[0]?.position ?? 0);
    expect(await write()).toMatchObject({ status: 'unknown', cause: expect.any(EventStoreRewoundError) as unknown });
    expect(JSON.stringify(store.health())).toContain('put back to an older state');
    await expect(write()).rejects.toThrow(EventStoreRewoundError);
  });

  it('is noticed by a subscription, also where other processes have written more than was lost', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, { timeouts: { ...timeouts, probeMs: 3_600_000 } });
    await store.append(sampleStream(), noStream, sampleEvents(1));
    let [caughtUp, errors] = [0, 0];
    const subscription = store.subscribe(0, {
      onEvents: () => undefined,
      onCaughtUp: () => void (caughtUp += 1),
      onError: () => void (errors += 1),
    });
    await until(() => caughtUp > 0, 'all events');
    server.log.rewind(0);
    for (let count = 0; count < 4; count += 1) writeForeign(server, 'orders-1');
    server.dropSubscriptions();
    await until(() => errors > 0, 'the end of the subscription');
    await expect(store.append(sampleStream(), noStream, sampleEvents(1))).rejects.toThrow(EventStoreRewoundError);
    expect(store.health()).toMatchObject({ status: 'unavailable' });
    await subscription.stop();
  });

  it('is not suspected where an append is repeated', async () => {
    const server = await startServer();
    const { store, log } = await openReadyStore(server.url, { timeouts: { ...timeouts, probeMs: 3_600_000 } });
    const [stream, events] = [sampleStream(), sampleEvents(1)];
    const first = await store.append(stream, noStream, events);
    await store.append(sampleStream(), noStream, sampleEvents(1));
    expect(await store.append(stream, noStream, events)).toEqual(first);
    server.setFaults({ read: 'unavailable' });
    expect(await store.append(stream, noStream, events)).toMatchObject({
      status: expect.not.stringMatching('conflict') as unknown,
    });
    server.setFaults({});
    expect(await store.append(sampleStream(), noStream, sampleEvents(1))).toMatchObject({ status: 'committed' });
    expect(log.entries.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('is not suspected while the log grows, nor while the server is away', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, { timeouts });
    for (let count = 0; count < 20; count += 1) await store.append(sampleStream(), noStream, sampleEvents(1));
    server.setFaults({ read: 'unavailable' });
    await until(() => store.health().status === 'unavailable', 'the outage');
    server.setFaults({});
    await until(() => store.health().status === 'ok', 'its end');
    expect(await store.append(sampleStream(), noStream, sampleEvents(1))).toMatchObject({ status: 'committed' });
  });
});
