import { describe, expect, it } from '@jest/globals';
import { noStream } from '@countersign/event-store';
import { sampleEvents, sampleStream } from '@countersign/event-store/testing';
import { systemClock } from '@countersign/runtime';
import { cleanUpAfterEach, openReadyStore, patient, startServer } from './harness.js';

cleanUpAfterEach();

/** A late append is looked for in the stream, also on a machine that is merely slow. With this clock nothing is late. */
const slowClock = { ...systemClock, setTimer: (ms: number, fn: () => void) => systemClock.setTimer(50 * ms, fn) };

describe('a store that is write only', () => {
  it('answers an append with its revision alone, after one call', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, { writeOnly: true, clock: slowClock });
    const [stream, events] = [sampleStream(), sampleEvents(2)];
    const before = server.calls.length;
    const answer = { status: 'committed', revision: 1, position: 0, events: [] };
    expect(await store.append(stream, noStream, events)).toEqual(answer);
    const calls = server.calls.slice(before).filter((call) => call.startsWith('Streams/'));
    expect(calls).toEqual(['Streams/Append']);
    expect(await store.append(stream, noStream, events)).toEqual(answer);
    expect(await store.readStream(stream)).toMatchObject(events.map(({ eventId }) => ({ eventId })));
  });

  it('still tells a repeat whose stream has grown from a conflict', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, { ...patient, writeOnly: true });
    const [stream, first, second] = [sampleStream(), sampleEvents(1), sampleEvents(1)];
    await store.append(stream, noStream, first);
    await store.append(stream, 0, second);
    expect(await store.append(stream, noStream, first)).toMatchObject({ status: 'committed' });
    expect(await store.append(stream, noStream, sampleEvents(1))).toEqual({ status: 'conflict', actualRevision: 1 });
  });

  it('repeats an append of unknown outcome without recording it twice', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, { ...patient, writeOnly: true });
    const [stream, events] = [sampleStream(), sampleEvents(2)];
    server.setFaults({ append: 'write-then-cut', times: 1 });
    expect(await store.append(stream, noStream, events)).toMatchObject({ status: 'unknown' });
    expect(await store.append(stream, noStream, events)).toMatchObject({ status: 'committed', revision: 1 });
    expect(server.log.revisionOf(stream)).toBe(1);
  });
});

describe('a page of the log', () => {
  it('is asked for in the size that is wanted, and found behind what others wrote', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    const foreign = Array.from({ length: 50 }, (_, index) => ({
      id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      type: 'Other',
      contentType: 'application/json',
      data: Buffer.from('{}'),
      metadata: Buffer.from('{}'),
    }));
    server.log.append('other-1', 'any', foreign, { createdMs: 0, recognisesRepeats: true });
    const [stream, events] = [sampleStream(), sampleEvents(3)];
    await store.append(stream, noStream, events);
    const [first] = await store.readAll(0, 1);
    expect(first).toMatchObject({ eventId: events[0]?.eventId, stream });
    const rest = await store.readAll(first?.position ?? 0, 2);
    expect(rest).toMatchObject(events.slice(1).map(({ eventId }) => ({ eventId })));
    expect(await store.readAll(rest[1]?.position ?? 0, 2)).toEqual([]);
  });
});
