import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { EventStoreUnavailableError, EventTooLargeError, noStream } from '@countersign/event-store';
import { sampleEvent, sampleEvents, sampleStream } from '@countersign/event-store/testing';
import type { AppendFault } from '../../eventstoredb-server/faults.ts';
import { scheme } from '../../eventstoredb-server/client-under-test.ts';
import { cleanUpAfterEach, onCleanUp, openReadyStore, openStore, patient, startServer, timed } from './harness.js';

cleanUpAfterEach();

/** What a caller waits at most for timeouts of 1 to 3 s, with retries and read-back, on a busy machine. */
const boundMs = 60_000;
/** For a test in which the server does not respond, and then does. */
const short = { timeouts: { appendMs: 3_000, readMs: 3_000 } };

describe('an append whose outcome cannot be known', () => {
  it.each<[string, AppendFault, number]>([
    ['the server hangs', 'hang', 0],
    ['the connection is cut before the write', 'cut', 0],
    ['the connection is cut after the write', 'write-then-cut', 2],
    ['the call ends without an answer', 'half-close', 0],
    ['the server times out', 'timeout', 0],
    ['the server fails inside', 'internal', 0],
    ['the server cancels the call', 'cancelled', 0],
  ])('is unknown within its time when %s, and its repeat is recorded once', async (_, append, written) => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, short);
    const [stream, events] = [sampleStream(), sampleEvents(2)];
    server.setFaults({ append, times: 1 });
    const { value, tookMs } = await timed(() => store.append(stream, noStream, events));
    expect(value.status).toBe('unknown');
    expect(tookMs).toBeLessThan(boundMs);
    expect(server.log.revisionOf(stream) + 1).toBe(written);
    expect(await store.append(stream, noStream, events)).toMatchObject({ status: 'committed', revision: 1 });
    expect(server.log.revisionOf(stream)).toBe(1);
    expect(store.health()).toEqual({ status: 'ok' });
  });

  it('is found in its stream when the server writes and hangs', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, { timeouts: { appendMs: 20_000 } });
    const [stream, events] = [sampleStream(), sampleEvents(2)];
    server.setFaults({ append: 'write-then-hang', times: 1 });
    expect(await store.append(stream, noStream, events)).toMatchObject({ status: 'committed', revision: 1 });
    expect(server.calls.filter((call) => call === 'Streams/Append')).toHaveLength(1);
    expect(store.health()).toEqual({ status: 'ok' });
  });

  it('is unknown when it was written but cannot be read back', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, short);
    const [stream, events] = [sampleStream(), sampleEvents(1)];
    server.setFaults({ read: 'hang' });
    expect(await store.append(stream, noStream, events)).toMatchObject({
      status: 'unknown',
      cause: expect.any(EventStoreUnavailableError),
    });
    server.setFaults({});
    expect(await store.append(stream, noStream, events)).toMatchObject({ status: 'committed', revision: 0 });
  });

  it('is unknown within its time when a peer takes the connection and never speaks', async () => {
    const sockets: Socket[] = [];
    const blackHole = createServer((socket) => void sockets.push(socket)).listen(0);
    onCleanUp(() => {
      blackHole.close();
      for (const socket of sockets) socket.destroy();
    });
    const { store } = openStore(`esdb://127.0.0.1:${(blackHole.address() as AddressInfo).port}?tls=false`);
    const { value, tookMs } = await timed(() => store.append(sampleStream(), noStream, sampleEvents(1)));
    expect(value.status).toBe('unknown');
    expect(tookMs).toBeLessThan(boundMs);
    await expect(store.readAll(0, 1)).rejects.toThrow(EventStoreUnavailableError);
    expect(store.health().status).toBe('unavailable');
  });

  it('is unknown when the store is closed meanwhile', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, { timeouts: { appendMs: 60_000 } });
    server.setFaults({ append: 'hang' });
    const appending = store.append(sampleStream(), noStream, sampleEvents(1));
    await store.close();
    expect((await appending).status).toBe('unknown');
  });
});

describe('an append of which certainly nothing was written', () => {
  it.each<AppendFault>(['access-denied', 'busy', 'not-ready', 'not-leader'])(
    'fails as unavailable: %s',
    async (append) => {
      const server = await startServer();
      const { store } = await openReadyStore(server.url, short);
      const stream = sampleStream();
      server.setFaults({ append });
      await expect(store.append(stream, noStream, sampleEvents(1))).rejects.toThrow(EventStoreUnavailableError);
      expect(server.log.revisionOf(stream)).toBe(-1);
      expect(store.health().status).toBe('unavailable');
    },
  );

  it.each<AppendFault>(['busy', 'not-ready'])('is retried automatically: %s, once', async (append) => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    server.setFaults({ append, times: 1 });
    expect(await store.append(sampleStream(), noStream, sampleEvents(1))).toMatchObject({ status: 'committed' });
  });

  it('goes to the leader', async () => {
    const leader = await startServer();
    const follower = await startServer({ log: leader.log });
    const { store } = await openReadyStore(follower.url, patient);
    follower.setFaults({ append: 'not-leader', leader: { host: '127.0.0.1', port: leader.port } });
    expect(await store.append(sampleStream(), noStream, sampleEvents(1))).toMatchObject({ status: 'committed' });
    expect(leader.calls).toContain('Streams/Append');
  });

  it('fails at once when the connection is refused', async () => {
    const server = await startServer();
    server.stop();
    const { store } = openStore(server.url);
    const { tookMs } = await timed(async () => {
      await expect(store.append(sampleStream(), noStream, sampleEvents(1))).rejects.toThrow(EventStoreUnavailableError);
    });
    expect(tookMs).toBeLessThan(boundMs);
  });

  it('fails when no server of a cluster tells who leads', async () => {
    const server = await startServer();
    server.setFaults({ gossip: 'unavailable' });
    const url = `esdb+discover://127.0.0.1:${server.port}?tls=false&maxDiscoverAttempts=1`;
    const { store } = openStore(url, { timeouts: { appendMs: 20_000 } });
    await expect(store.append(sampleStream(), noStream, sampleEvents(1))).rejects.toThrow(EventStoreUnavailableError);
    server.setFaults({});
    expect(await store.append(sampleStream(), noStream, sampleEvents(1))).toMatchObject({ status: 'committed' });
    expect(server.calls).toContain('Gossip/Read');
  });

  it('refuses what is larger than the server takes', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, { timeouts: { appendMs: 20_000 } });
    const large = sampleEvent('x'.repeat(1_100_000));
    await expect(store.append(sampleStream(), noStream, [large])).rejects.toThrow(EventTooLargeError);
    expect(server.calls).not.toContain('Streams/Append');
    const huge = sampleEvent('x'.repeat(9_000_000));
    await expect(store.append(sampleStream(), noStream, [huge])).rejects.toThrow('at most');
    expect(store.health()).toEqual({ status: 'ok' });
  });

  it('refuses what JSON does not know, and the next append is none the worse', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    const odd = { ...sampleEvent(), data: { reason: 1n } } as unknown as ReturnType<typeof sampleEvent>;
    await expect(store.append(sampleStream(), noStream, [odd])).rejects.toThrow(TypeError);
    expect(await store.append(sampleStream(), noStream, sampleEvents(1))).toMatchObject({ status: 'committed' });
  });

  it('is a conflict when the stream was deleted, as a read of it then says', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    server.setFaults({ append: 'stream-deleted' });
    expect(await store.append(sampleStream(), noStream, sampleEvents(1))).toMatchObject({ status: 'conflict' });
  });
});

describe('an append', () => {
  it('is recognised by its ids when the server has forgotten it', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    const [stream, events] = [sampleStream(), sampleEvents(2)];
    const first = await store.append(stream, noStream, events);
    server.setFaults({ append: 'forgetful' });
    expect(await store.append(stream, noStream, events)).toEqual(first);
    expect(await store.append(stream, noStream, sampleEvents(2))).toEqual({ status: 'conflict', actualRevision: 1 });
  });

  it('never uses the calls that can hang for ever', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    server.setFaults({ features: 'hang' });
    await store.append(sampleStream(), noStream, sampleEvents(1));
    expect(server.calls).toContain('Streams/Append');
    expect(server.calls).not.toContain('Streams/BatchAppend');
    // Asked once for the log, over a separate connection; and by the native bridge of Kurrent's client.
    expect(server.calls.filter((call) => call === 'ServerFeatures/GetSupportedMethods').length).toBeLessThanOrEqual(
      scheme === 'esdb' ? 1 : 2,
    );
  });

  it('distinguishes a conflict from a commit with any connection string', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(`${server.url}&throwOnAppendFailure=false`, patient);
    const stream = sampleStream();
    await store.append(stream, noStream, sampleEvents(6));
    expect(await store.append(stream, 2, sampleEvents(1))).toEqual({ status: 'conflict', actualRevision: 5 });
    expect(await store.append(sampleStream(), 2, sampleEvents(1))).toEqual({ status: 'conflict', actualRevision: -1 });
  });

  it('works 150 at a time on a fresh client', async () => {
    const server = await startServer();
    // A busy machine takes its time for 150 appends.
    const { store } = openStore(server.url, { timeouts: { appendMs: 150_000, readMs: 150_000 } });
    const results = await Promise.all(
      Array.from({ length: 150 }, () => store.append(sampleStream(), noStream, sampleEvents(1))),
    );
    expect(results.filter(({ status }) => status === 'committed')).toHaveLength(150);
  });

  it('is known at the second try after a restart of the server', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-'));
    onCleanUp(() => {
      rmSync(folder, { recursive: true });
    });
    const first = await startServer({ folder });
    const { store } = await openReadyStore(first.url, { timeouts: { appendMs: 20_000 } });
    await store.append(sampleStream(), noStream, sampleEvents(1));
    first.stop();
    await startServer({ port: first.port, folder });
    const [stream, events] = [sampleStream(), sampleEvents(1)];
    // The first one may be how the client learns that its connection has closed.
    await store.append(stream, noStream, events);
    expect(await store.append(stream, noStream, events)).toMatchObject({ status: 'committed', revision: 0 });
  });

  it('takes only streams that subscriptions see, and ids that the server takes', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    await expect(store.append('elsewhere-1', noStream, sampleEvents(1))).rejects.toThrow(RangeError);
    await expect(store.append(sampleStream(), noStream, [sampleEvent('a', 'no-uuid')])).rejects.toThrow(RangeError);
  });
});
