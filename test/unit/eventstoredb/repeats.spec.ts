import { describe, expect, it } from '@jest/globals';
import { noStream } from '@countersign/event-store';
import { sampleEvents, sampleStream } from '@countersign/event-store/testing';
import { cleanUpAfterEach, openReadyStore, patient, startServer, until } from './harness.js';

cleanUpAfterEach();

const appendsOf = (calls: readonly string[]): number => calls.filter((call) => call === 'Streams/Append').length;

describe('a repeat of an append that is on its way', () => {
  it('joins the first one in the same process', async () => {
    const server = await startServer();
    const { store } = await openReadyStore(server.url, patient);
    server.setFaults({ commitMs: 50 });
    const [stream, events] = [sampleStream(), sampleEvents(2)];
    const answers = await Promise.all([1, 2, 3].map(() => store.append(stream, noStream, events)));
    for (const answer of answers) expect(answer).toMatchObject({ status: 'committed', revision: 1 });
    expect(appendsOf(server.calls)).toBe(1);
  });

  it('from another process is found in its stream, long before the server says that it timed out', async () => {
    const server = await startServer();
    const [one, other] = [await openReadyStore(server.url, patient), await openReadyStore(server.url, patient)];
    // If the server's response were awaited, the test would time out.
    server.setFaults({ commitMs: 30, dropMs: 600_000 });
    const [stream, events] = [sampleStream(), sampleEvents(2)];
    const answers = await Promise.all([one, other].map(({ store }) => store.append(stream, noStream, events)));
    for (const answer of answers) expect(answer).toMatchObject({ status: 'committed', revision: 1 });
    expect(appendsOf(server.calls)).toBe(2);
    expect(server.log.revisionOf(stream)).toBe(1);
    for (const { store } of [one, other]) expect(store.health()).toEqual({ status: 'ok' });
  });

  it('whose first one never comes is told as unknown by the server, which costs no health and no client', async () => {
    const server = await startServer();
    const { store, log } = await openReadyStore(server.url, patient);
    server.setFaults({ append: 'timeout' });
    for (let count = 0; count < 6; count += 1) {
      expect(await store.append(sampleStream(), noStream, sampleEvents(1))).toMatchObject({ status: 'unknown' });
      expect(store.health()).toEqual({ status: 'ok' });
    }
    expect(log.entries.filter(({ level }) => level === 'warn')).toEqual([]);
  });
});

describe("the server's clock", () => {
  it('is not doubted because of appends that were recorded before', async () => {
    const server = await startServer();
    const { store, log } = await openReadyStore(server.url, patient);
    const other = await openReadyStore(server.url, patient);
    server.setFaults({ clockAheadMs: -15_000 });
    for (let count = 0; count < 5; count += 1) {
      const [stream, events] = [sampleStream(), sampleEvents(1)];
      server.setFaults({ clockAheadMs: -15_000, append: 'write-then-cut', times: 1 });
      await other.store.append(stream, noStream, events);
      server.setFaults({ clockAheadMs: -15_000, commitMs: 0 });
      expect(await other.store.append(stream, noStream, events)).toMatchObject({ status: 'committed' });
    }
    expect(other.log.entries.filter(({ message }) => message.includes('clock'))).toEqual([]);
    // Its own appends do say something.
    for (let count = 0; count < 3; count += 1) await store.append(sampleStream(), noStream, sampleEvents(1));
    await until(() => log.entries.some(({ message }) => message.includes('clock')), 'the warning');
  });
});
