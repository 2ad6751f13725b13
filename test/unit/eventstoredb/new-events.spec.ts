import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { noStream } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { sampleEvents, sampleStream } from '@countersign/event-store/testing';
import type { TestServer } from '../../eventstoredb-server/server.ts';
import type { ClientAppended } from '@countersign/event-store/eventstoredb';
import { cleanUpAfterEach, connect, openReadyStore, patient, startServer } from './harness.js';

cleanUpAfterEach();

const areNew = true;

interface World {
  readonly server: TestServer;
  readonly store: EventStore;
  /** The stream reads that some work needs. */
  readonly readsOf: (work: () => Promise<unknown>) => Promise<number>;
}

/** A store whose first append has been read back, so that it knows the time and that the server tells positions. */
async function openWorld(): Promise<World> {
  const server = await startServer();
  const { store } = await openReadyStore(server.url, patient);
  const reads = (): number =>
    server.calls.filter((call) => call.startsWith('Streams/Read ') && !call.includes('$all')).length;
  const readsOf: World['readsOf'] = async (work) => {
    const before = reads();
    await work();
    return reads() - before;
  };
  const first = (): Promise<unknown> => store.append(sampleStream(), noStream, sampleEvents(1), { areNew });
  for (let count = 0; (await readsOf(first)) > 0; count += 1) expect(count).toBeLessThan(50);
  return { server, store, readsOf };
}

const shifts: readonly (readonly [string, (one: ClientAppended) => ClientAppended])[] = [
  ['tells no position', (one) => ({ ...one, position: undefined })],
  [
    'tells another position than the event has',
    ({ revision, position }) => ({ revision, position: position && { ...position, commit: position.commit + 8n } }),
  ],
];

describe('an append of new events', () => {
  it.each(shifts)('is always read back where a server %s', async (_, shift) => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, {
      ...patient,
      connect: (url) => {
        const client = connect(url);
        return { ...client, append: async (...given) => shift(await client.append(...given)) };
      },
    });
    const streams = [1, 2, 3].map(() => sampleStream());
    for (const stream of streams) {
      const answer = await store.append(stream, noStream, sampleEvents(1), { areNew });
      const [found] = await store.readStream(stream);
      expect(answer).toMatchObject({ status: 'committed', position: found?.position, events: [found] });
    }
    for (const stream of streams) {
      expect(server.calls.filter((call) => call === `Streams/Read ${stream}`)).toHaveLength(2);
    }
  });

  it('is not read back, and answers what a reader finds', async () => {
    const { store, readsOf } = await openWorld();
    const [stream, events] = [sampleStream(), sampleEvents(3)];
    let answer: unknown;
    const reads = await readsOf(async () => (answer = await store.append(stream, noStream, events, { areNew })));
    const found = await store.readStream(stream);
    const told = found.map(({ recordedAt: _, position: __, ...event }) => event);
    expect(answer).toMatchObject({ status: 'committed', revision: 2, position: found[2]?.position, events: told });
    expect(reads).toBeLessThanOrEqual(1);
  });

  it('is read back now and then, for its time', async () => {
    const { store, readsOf } = await openWorld();
    await delay(1100);
    const append = () => store.append(sampleStream(), noStream, sampleEvents(1), { areNew });
    expect(await readsOf(append)).toBe(1);
  });

  it('is read back when it is repeated: it was recorded at another time', async () => {
    const { server, store, readsOf } = await openWorld();
    const [stream, events] = [sampleStream(), sampleEvents(2)];
    server.setFaults({ append: 'write-then-cut', times: 1 });
    expect(await store.append(stream, noStream, events, { areNew })).toMatchObject({ status: 'unknown' });
    const repeat = async () =>
      expect(await store.append(stream, noStream, events, { areNew })).toMatchObject({
        status: 'committed',
        revision: 1,
      });
    expect(await readsOf(repeat)).toBeGreaterThan(0);
  });

  it('is a conflict where another was faster, and no repeat of it', async () => {
    const { store } = await openWorld();
    const stream = sampleStream();
    await store.append(stream, noStream, sampleEvents(1), { areNew });
    expect(await store.append(stream, noStream, sampleEvents(1), { areNew })).toEqual({
      status: 'conflict',
      actualRevision: 0,
    });
  });
});
