import { describe, expect, it } from '@jest/globals';
import { EventStoreUnavailableError, noStream } from '@countersign/event-store';
import { sampleEvents, sampleStream } from '@countersign/event-store/testing';
import type { ReadFault } from '../../eventstoredb-server/faults.ts';
import { metadataLikeOurs, writeForeign } from './foreign-events.js';
import { cleanUpAfterEach, openReadyStore, patient, startServer, timed } from './harness.js';

cleanUpAfterEach();

describe('a read', () => {
  it.each<ReadFault>(['hang', 'hang-midway', 'unavailable', 'not-leader', 'access-denied'])(
    'fails as unavailable within its time: %s',
    async (read) => {
      const server = await startServer();
      const { store } = await openReadyStore(server.url, { timeouts: { appendMs: 20_000, readMs: 3_000 } });
      const stream = sampleStream();
      await store.append(stream, noStream, sampleEvents(3));
      server.setFaults({ read });
      const { tookMs } = await timed(async () => {
        await expect(store.readStream(stream)).rejects.toThrow(EventStoreUnavailableError);
        await expect(store.head()).rejects.toThrow(EventStoreUnavailableError);
      });
      expect(tookMs).toBeLessThan(60_000);
      expect(store.health().status).toBe('unavailable');
      server.setFaults({});
      expect(await store.readStream(stream)).toHaveLength(3);
      expect(store.health()).toEqual({ status: 'ok' });
    },
  );

  it('is tried again when the server was only restarting', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    server.setFaults({ read: 'unavailable', times: 2 });
    expect(await store.readAll(0, 10)).toEqual([]);
  });

  it('goes to the leader, which has everything', async () => {
    const leader = await startServer();
    const follower = await startServer({ log: leader.log });
    const { store } = await openReadyStore(follower.url, patient);
    follower.setFaults({ read: 'not-leader', leader: { host: '127.0.0.1', port: leader.port } });
    expect(await store.readStream(sampleStream())).toEqual([]);
    expect(leader.calls.length).toBeGreaterThan(0);
  });

  it('says so when the stream was deleted', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    server.setFaults({ read: 'stream-deleted' });
    const stream = sampleStream();
    expect(await store.readStream(stream)).toMatchObject([{ stream, unreadable: expect.stringContaining('deleted') }]);
  });

  it.each([
    ['was written by another application', {}],
    ['has metadata that are no JSON', { metadata: '{' }],
    ['has data that are no JSON', { data: 'not JSON', metadata: metadataLikeOurs }],
  ])('reads a stream of ours, in which an event %s, with that event as one that cannot be read', async (_, texts) => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    const stream = sampleStream();
    await store.append(stream, noStream, sampleEvents(1));
    writeForeign(server, stream, texts);
    const [first, second, ...rest] = await store.readStream(stream);
    expect(rest).toEqual([]);
    expect(first?.unreadable).toBeUndefined();
    expect(second).toMatchObject({ stream, revision: 1, unreadable: expect.any(String) });
  });

  it('reads a stream that has lost its beginning with the gap as an event that cannot be read', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    const stream = sampleStream();
    await store.append(stream, noStream, sampleEvents(3));
    const [first] = server.log.readStream(stream, 0, 'forwards', 1);
    const readStream = server.log.readStream.bind(server.log);
    Object.assign(server.log, {
      readStream: (...args: Parameters<typeof readStream>) =>
        readStream(...args).filter(({ position }) => position !== first?.position),
    });
    const [gap, ...rest] = await store.readStream(stream);
    expect(gap).toMatchObject({
      revision: 0,
      unreadable: expect.stringContaining('revision 0 of the stream is missing'),
    });
    expect(rest.map(({ revision }) => revision)).toEqual([1, 2]);
  });

  it('gives a long stream whole', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    const stream = sampleStream();
    for (let last = noStream; last < 1000; last += 251) await store.append(stream, last, sampleEvents(251));
    expect(await store.readStream(stream)).toHaveLength(1004);
    expect(await store.readAll(0, 900)).toHaveLength(900);
  });

  it('passes over the events of others, thousands of them', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    const ours = sampleStream();
    const position = async (): Promise<number> => (await store.readAll(0, 10)).at(-1)?.position ?? 0;
    expect(await store.head()).toBe(0);
    for (let count = 0; count < 550; count += 1) writeForeign(server, '$stats-0.0.0.0:2113');
    expect(await store.head()).toBe(0);
    await store.append(ours, noStream, sampleEvents(2));
    // Another application's stream with a name like ours, and events that are no JSON at all.
    writeForeign(server, 'policy-somebody-else', { data: '{"a":1}', metadata: '{"their":"own"}' });
    writeForeign(server, 'delivery-somebody-else', { data: 'not JSON', metadata: 'neither' });
    for (let count = 0; count < 550; count += 1) writeForeign(server, 'orders-1', { metadata: metadataLikeOurs });
    expect((await store.readAll(0, 10)).map(({ stream }) => stream)).toEqual([ours, ours]);
    expect(await store.head()).toBe(await position());
    expect(await store.head()).toBe(await position());
    await store.append(sampleStream(), noStream, sampleEvents(1));
    expect(await store.head()).toBe(await position());
  });

  it('sees when the log was put back to an older state', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    await store.append(sampleStream(), noStream, sampleEvents(1));
    const before = await store.head();
    await store.append(sampleStream(), noStream, sampleEvents(5));
    expect(await store.head()).toBeGreaterThan(before);
    server.log.rewind(before);
    expect(await store.head()).toBe(before);
    server.log.rewind(0);
    expect(await store.head()).toBe(0);
  });
});
