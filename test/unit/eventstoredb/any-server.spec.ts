import { describe, expect, it } from '@jest/globals';
import { QuestionRefusedError } from '@countersign/contracts';
import { EventTooLargeError, noStream } from '@countersign/event-store';
import { sampleEvent, sampleEvents, sampleStream } from '@countersign/event-store/testing';
import { checkRights, secureStore } from '@countersign/event-store/eventstoredb';
import { systemClock } from '@countersign/runtime';
import { scheme } from '../../eventstoredb-server/client-under-test.ts';
import { cleanUpAfterEach, openReadyStore, patient, startSecuredServer, startServer, until } from './harness.js';

// Runs on the server at EVENTSTOREDB_URL too (`npm run test:eventstoredb`): nothing here needs a fault.
cleanUpAfterEach();

const urlOfServer = async (): Promise<string> => process.env['EVENTSTOREDB_URL'] ?? (await startServer()).url;

/** Returns the URLs of the service's user and of the admin. The admin's is undefined when the environment names a server without one. */
async function secured(): Promise<{ readonly url: string; readonly adminUrl: string | undefined }> {
  const given = process.env['EVENTSTOREDB_URL'];
  if (given !== undefined) return { url: given, adminUrl: process.env['EVENTSTOREDB_ADMIN_URL'] };
  const { as } = await startSecuredServer();
  return { url: as('countersign:service-secret'), adminUrl: as('admin:admin-secret') };
}

describe('any server', () => {
  it('is told of in one line at the start', async () => {
    const { log } = await openReadyStore(await urlOfServer(), patient);
    const told = (): string | undefined =>
      log.entries.find(({ message }) => /^(?:EventStoreDB|KurrentDB) \d+\.\d+.*, (?:no user|as \S+)$/.test(message))
        ?.message;
    await until(() => told() !== undefined, 'the line');
    process.stdout.write(`met ${told() ?? ''}, through the client of ${scheme}://\n`);
  });

  it('records the same append of two processes once, and answers both with it', async () => {
    const url = await urlOfServer();
    const [one, other] = [await openReadyStore(url, patient), await openReadyStore(url, patient)];
    const tookMs: number[] = [];
    for (let pair = 0; pair < 20; pair += 1) {
      const [stream, events] = [sampleStream(), sampleEvents(2)];
      const startedAt = performance.now();
      const answers = await Promise.all([one, other].map(({ store }) => store.append(stream, noStream, events)));
      tookMs.push(performance.now() - startedAt);
      for (const answer of answers) expect(answer).toMatchObject({ status: 'committed', revision: 1 });
      expect(await one.store.readStream(stream)).toHaveLength(2);
    }
    process.stdout.write(`the slowest of 20 pairs took ${String(Math.round(Math.max(...tookMs)))} ms\n`);
    for (const { store, log } of [one, other]) {
      expect(store.health()).toEqual({ status: 'ok' });
      expect(log.entries.filter(({ level }) => level === 'warn')).toEqual([]);
    }
  });

  it('tells the rights of the service, and grants them when an admin asks', async () => {
    const { url, adminUrl } = await secured();
    const clock = systemClock;
    if (adminUrl !== undefined) await secureStore(adminUrl, url, clock);
    const { tried, isAsItMustBe } = await checkRights(url, clock);
    for (const { what, wanted, found } of tried) process.stdout.write(`${what}: ${wanted}, found ${found}\n`);
    expect(tried.length).toBeGreaterThan(5);
    expect(isAsItMustBe).toBe(adminUrl !== undefined || tried.every(({ wanted, found }) => wanted === found));
  });

  it('reads its log from the positions of events, and from nowhere else', async () => {
    const { store } = await openReadyStore(await urlOfServer(), patient);
    const appended = await store.append(sampleStream(), noStream, sampleEvents(3));
    const [first, second, third] = appended.status === 'committed' ? appended.events : [];
    if (first === undefined || second === undefined || third === undefined) throw new Error('nothing was recorded');
    expect(second.position - first.position).toBeGreaterThan(1);
    expect((await store.readAll(first.position, 2)).map(({ position }) => position)).toEqual([
      second.position,
      third.position,
    ]);
    expect(await store.readAll(third.position + 1_000_000, 1)).toEqual([]);
    await expect(store.readAll(first.position + 1, 2)).rejects.toThrow(QuestionRefusedError);
    expect(store.health()).toEqual({ status: 'ok' });
  });

  it('is sent nothing that is too large for it', async () => {
    const { store } = await openReadyStore(await urlOfServer(), patient);
    const stream = sampleStream();
    await expect(store.append(stream, noStream, [sampleEvent('x'.repeat(1_100_000))])).rejects.toThrow(
      EventTooLargeError,
    );
    const almost = [sampleEvent('x'.repeat(1_000_000))];
    expect(await store.append(stream, noStream, almost)).toMatchObject({ status: 'committed' });
  });
});
