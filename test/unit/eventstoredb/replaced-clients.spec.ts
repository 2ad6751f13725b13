import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { noStream } from '@countersign/event-store';
import { sampleEvents, sampleStream } from '@countersign/event-store/testing';
import type { Membership } from '../../eventstoredb-server/members.ts';
import { scheme } from '../../eventstoredb-server/client-under-test.ts';
import {
  cleanUpAfterEach,
  connect as connectClient,
  onCleanUp,
  openReadyStore,
  startServer,
  until,
} from './harness.js';

cleanUpAfterEach();

const event = { id: '8d1f4c1e-52f1-4f53-8f0e-0d8f4d7d3a10', type: 'A', data: {}, metadata: new Uint8Array() };

describe('a client that is ended', () => {
  it('settles every call that waits for its channel, at any moment', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    onCleanUp(() => void process.off('unhandledRejection', note));
    const server = await startServer();
    for (let turns = 0; turns < 20; turns += 1) {
      const client = connectClient(server.url.replace(/^esdb/, scheme));
      const calls = [1, 2, 3].map((n) =>
        client.append(sampleStream(), 'no_stream', [{ ...event, type: String(n) }], 1000),
      );
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      const ended = client.dispose();
      const late = client.append(sampleStream(), 'no_stream', [event], 1000);
      await Promise.allSettled([...calls, late, ended]);
      // A rejection is reported as unhandled after its turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(unhandled).toEqual([]);
  });
});

describe('a server that is frozen', () => {
  it('is away, and no reason to end the process, because it answers no other client either', async () => {
    let isFrozen = false;
    const membership = (port: () => number): Membership => ({
      leader: port,
      isFrozen: () => isFrozen,
      thawed: () => (isFrozen ? new Promise<void>(() => undefined) : Promise.resolve()),
      gossip: () => ({ ports: [port()], leader: port() }),
    });
    const server = await startServer({ membership });
    const wedged: string[] = [];
    const timeouts = { appendMs: 1_000, readMs: 1_000, wedgedMs: 100 };
    const { store, log } = await openReadyStore(server.url, { timeouts, onWedged: (why) => wedged.push(why) });
    await until(() => store.health().status === 'ok', 'its health');
    const before = log.entries.length;
    isFrozen = true;
    const append = (): Promise<{ readonly status: string }> => store.append(sampleStream(), noStream, sampleEvents(1));
    while (!JSON.stringify(store.health()).includes('the server does not answer')) await append();
    for (let count = 0; count < 10; count += 1) await append();
    expect(wedged).toEqual([]);
    expect(log.entries.slice(before).filter(({ message }) => message.includes('is replaced'))).toEqual([]);
    isFrozen = false;
    while ((await append()).status !== 'committed');
  });
});

describe('a connection that is broken without a word', () => {
  it('is left for a new one when the server answers others', async () => {
    const server = await startServer();
    let hasBroken = false;
    const pairs: [Socket, Socket][] = [];
    // Bytes of connections from before the break go nowhere.
    const proxy = createServer((near) => {
      const [far, isOld] = [connect(server.port, '127.0.0.1'), !hasBroken];
      pairs.push([near, far]);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        from.on('data', (bytes) => !(isOld && hasBroken) && to.write(bytes));
        from.on('error', () => undefined);
        from.on('close', () => to.destroy());
      }
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => proxy.once('listening', resolve));
    onCleanUp(() => {
      proxy.close();
      for (const socket of pairs.flat()) socket.destroy();
    });
    const wedged: string[] = [];
    const url = `esdb://127.0.0.1:${String((proxy.address() as AddressInfo).port)}?tls=false`;
    const timeouts = { appendMs: 5_000, readMs: 5_000, wedgedMs: 100 };
    const { store, log } = await openReadyStore(url, { timeouts, onWedged: (why) => wedged.push(why) });
    // Its end takes a while, and the new client is already in use.
    const subscription = store.subscribe(0, { onEvents: () => undefined, onError: () => undefined });
    await until(() => server.calls.some((call) => call.endsWith('subscription')), 'the subscription');
    hasBroken = true;
    while ((await store.append(sampleStream(), noStream, sampleEvents(1))).status !== 'committed');
    await until(() => store.health().status === 'ok', 'its health');
    expect(log.entries.filter(({ message }) => message.includes('is replaced'))).toHaveLength(1);
    expect(wedged).toEqual([]);
    await subscription.stop();
  });
});
