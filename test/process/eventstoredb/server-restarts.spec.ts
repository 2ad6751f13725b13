import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { noStream } from '@countersign/event-store';
import { connectOf, openEventStoreDb } from '@countersign/event-store/eventstoredb';
import { sampleEvents, sampleStream } from '@countersign/event-store/testing';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { scheme } from '../../eventstoredb-server/client-under-test.ts';
import { startServerProcess } from '../../eventstoredb-server/server-process.ts';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../harness/cleanup.js';
import { freePort } from '../../ports.js';

cleanUpAfterEach();

it('records every acknowledged append once while the server is killed again and again', async () => {
  const [folder, port] = [temporaryFolder(), await freePort()];
  let server = await startServerProcess({ folder, port });
  onCleanup(() => server.stop());
  const timeouts = { appendMs: 2_000, readMs: 100_000 };
  const url = server.url.replace(/^esdb/, scheme);
  const [log, clock, connect] = [createSilentLog(), systemClock, await connectOf(url)];
  const store = openEventStoreDb({ url, connect, log, clock, timeouts });
  onCleanup(store.close);
  const seen: string[] = [];
  store.subscribe(0, {
    onEvents: (events) => void seen.push(...events.map(({ eventId }) => eventId)),
    onError: (error) => {
      throw error;
    },
  });
  const written: string[] = [];
  let isOver = false;
  /** Retries each append, with the same ids and revision, until its result is known. */
  const write = async (): Promise<void> => {
    while (!isOver) {
      const [stream, events] = [sampleStream(), sampleEvents(2)];
      for (;;) {
        const result = await store.append(stream, noStream, events).catch(() => delay(20, undefined));
        if (result?.status === 'committed') break;
        expect(result?.status).not.toBe('conflict');
      }
      written.push(...events.map(({ eventId }) => eventId));
    }
  };
  const writers = [1, 2, 3].map(write);
  for (let kill = 0; kill < 5; kill += 1) {
    await delay(150 + 100 * Math.random());
    await server.stop('SIGKILL');
    server = await startServerProcess({ folder, port });
  }
  isOver = true;
  await Promise.all(writers);
  const recorded = (await store.readAll(0, 100_000)).map(({ eventId }) => eventId);
  expect(recorded.toSorted()).toEqual(written.toSorted());
  for (let tries = 0; seen.length < recorded.length && tries < 15_000; tries += 1) await delay(10);
  expect(seen).toEqual(recorded);
});
