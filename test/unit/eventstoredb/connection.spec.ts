import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { noStream } from '@countersign/event-store';
import { openEventStoreDb } from '@countersign/event-store/eventstoredb';
import { sampleEvents, sampleStream } from '@countersign/event-store/testing';
import { systemClock } from '@countersign/runtime';
import { createCollectingLog, createSilentLog } from '@countersign/runtime/testing';
import { scheme } from '../../eventstoredb-server/client-under-test.ts';
import { cleanUpAfterEach, connect, openReadyStore, openStore, startServer, until } from './harness.js';

cleanUpAfterEach();

describe('the connection', () => {
  it('replaces a client that gets no answer three times, and its subscriptions go on', async () => {
    const server = await startServer();
    const { store, log } = await openReadyStore(server.url, { timeouts: { appendMs: 50 } });
    const seen: number[] = [];
    const subscription = store.subscribe(0, {
      onEvents: (events) => void seen.push(...events.map(({ position }) => position)),
      onError: () => undefined,
    });
    const [firstStream, firstEvents] = [sampleStream(), sampleEvents(1)];
    while ((await store.append(firstStream, noStream, firstEvents)).status !== 'committed');
    const subscriptions = (): number => server.calls.filter((call) => call.endsWith('subscription')).length;
    await until(() => seen.length === 1, 'the first event');
    const before = subscriptions();
    // The probe hangs as well: its answer would show that the client works.
    server.setFaults({ append: 'hang', read: 'hang' });
    for (let count = 0; count < 3; count += 1) {
      expect((await store.append(sampleStream(), noStream, sampleEvents(1))).status).toBe('unknown');
    }
    await until(() => log.entries.some(({ message }) => message.includes('is replaced')), 'the new client');
    server.setFaults({});
    const [stream, events] = [sampleStream(), sampleEvents(1)];
    await until(() => subscriptions() === before + 1, 'the new subscription');
    while ((await store.append(stream, noStream, events)).status !== 'committed');
    expect(store.health()).toEqual({ status: 'ok' });
    await until(() => seen.length === 2, 'both events');
    await subscription.stop();
  });

  it('says that the process should end when new clients do not help either', async () => {
    const server = await startServer();
    const wedged: string[] = [];
    const { store, log } = await openReadyStore(server.url, {
      timeouts: { appendMs: 20, readMs: 20, wedgedMs: 15_000 },
      onWedged: (why) => wedged.push(why),
    });
    server.setFaults({ append: 'hang', read: 'hang' });
    const append = (): Promise<unknown> => store.append(sampleStream(), noStream, sampleEvents(1));
    // More than three clients, used up within the limit: the server may only be restarting.
    await Promise.all(Array.from({ length: 3 }, append));
    await Promise.all(Array.from({ length: 3 }, append));
    await Promise.all(Array.from({ length: 3 }, append));
    expect(wedged).toEqual([]);
    while (wedged.length === 0) {
      await append();
      await delay(200);
    }
    await append();
    expect(wedged).toEqual([expect.stringMatching(/[0-9]+ new clients/)]);
    expect(store.health()).toMatchObject({ status: 'unavailable' });
    expect(log.entries.filter(({ level }) => level === 'error')).toHaveLength(1);
  });

  it('is not ready before the server has answered, and notices by itself when it does and when it stops', async () => {
    const server = await startServer();
    server.stop();
    const { store } = openStore(server.url, { timeouts: { probeMs: 50 } });
    expect(store.health()).toMatchObject({ status: 'unavailable', why: expect.stringContaining('not answered yet') });
    await until(() => JSON.stringify(store.health()).includes('established'), 'the refusal');
    const again = await startServer({ port: server.port });
    await until(() => store.health().status === 'ok', 'the answer');
    again.stop();
    await until(() => store.health().status === 'unavailable', 'the silence');
  });

  it('writes neither user nor password to its log', async () => {
    const server = await startServer();
    const url = `esdb://admin:ch%40ngeit@127.0.0.1:${server.port}?tls=false`;
    const { log } = await openReadyStore(url);
    const lines = JSON.stringify(log.entries);
    expect(lines).toContain(`${scheme}://127.0.0.1:${server.port}`);
    expect(lines).not.toMatch(/admin|ngeit/);
  });

  it.each(['http://admin:secret@127.0.0.1:2113', 'esdb://admin:secret@127.0.0.1:2113:1'])(
    'refuses a connection string that the client does not take, and does not repeat it: %s',
    (url) => {
      const open = () => openEventStoreDb({ url, connect, log: createCollectingLog(), clock: systemClock });
      expect(open).toThrow(RangeError);
      expect(open).not.toThrow(/secret/);
    },
  );

  it.each([
    ['24.6.0', 'EventStoreDB 24.6.0, a single node, no TLS, no user'],
    ['26.1.0', 'KurrentDB 26.1.0, a single node, no TLS, no user'],
  ])('tells which product it met: version %s', async (version, line) => {
    const server = await startServer({ version });
    const { log } = await openReadyStore(server.url);
    await until(() => log.entries.some(({ message }) => message === line), line);
  });

  it('names a certificate that cannot be read, and no password', () => {
    const url = 'esdb://admin:secret@127.0.0.1:2113?tlsCAFile=/nowhere/ca.crt';
    const open = () => openEventStoreDb({ url, connect, log: createCollectingLog(), clock: systemClock });
    expect(open).toThrow(/tlsCAFile: file not found: \/nowhere\/ca\.crt/);
    expect(open).not.toThrow(/secret/);
  });

  it('subscribes to nothing once it is closed, and closes without a connection', async () => {
    const url = `${scheme}://127.0.0.1:1?tls=false`;
    const store = openEventStoreDb({ url, connect, log: createSilentLog(), clock: systemClock });
    await store.close();
    await store.close();
    expect(() => store.subscribe(0, { onEvents: () => undefined, onError: () => undefined })).toThrow('closed');
  });
});
