import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@countersign/runtime';
import { createCollectingLog, createSilentLog } from '@countersign/runtime/testing';
import { EventStoreUnavailableError, noStream } from '../event-store.js';
import { sampleEvents, sampleStream } from '../sample-events.js';
import { openDatabase } from './database.js';
import { openEmbeddedEventStore } from './embedded-event-store.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** The page of each frame, and whether a transaction ends there. */
function framesOf(wal: Buffer): readonly { readonly page: number; readonly isCommit: boolean }[] {
  const frameBytes = 24 + wal.readUInt32BE(8);
  return Array.from({ length: Math.floor((wal.length - 32) / frameBytes) }, (_, index) => {
    const at = 32 + index * frameBytes;
    return { page: wal.readUInt32BE(at), isCommit: wal.readUInt32BE(at + 4) !== 0 };
  });
}

describe('the log file', () => {
  it('is flushed with every commit, and checkpointed only when asked', () => {
    const { database } = openDatabase(join(folder, 'events.db'));
    const names = ['journal_mode', 'synchronous', 'wal_autocheckpoint', 'auto_vacuum'];
    const settings = names.map((name) => database.prepare(`PRAGMA ${name}`).get()?.[name]);
    expect(settings).toEqual(['wal', 2, 0, 0]);
    database.close();
  });

  it('has the head in every transaction, first or after page 1: what tells where transactions begin', async () => {
    const store = await openEmbeddedEventStore({ folder, log: createSilentLog(), clock: systemClock });
    for (let round = 0; round < 60; round += 1) {
      const size = round % 3 === 0 ? 40 : 1;
      await Promise.all(Array.from({ length: size }, () => store.append(sampleStream(), noStream, sampleEvents(2))));
    }
    let pages: number[] = [];
    const transactions: number[][] = [];
    for (const { page, isCommit } of framesOf(readFileSync(join(folder, 'events.db-wal')))) {
      pages.push(page);
      if (!isCommit) continue;
      transactions.push(pages);
      pages = [];
    }
    expect(transactions.length).toBe(store.stats().commits);
    for (const [first, second, ...others] of transactions) {
      expect(first === 1 ? second : first).toBe(2);
      expect(Math.min(second ?? 0, ...others)).toBeGreaterThan(first === 1 ? 1 : 2);
    }
    await store.close();
    expect(() => readFileSync(join(folder, 'events.db-wal'))).toThrow('ENOENT');
  });

  it('that cannot be opened is named', async () => {
    mkdirSync(join(folder, 'events.db'));
    const opening = openEmbeddedEventStore({ folder, log: createSilentLog(), clock: systemClock });
    await expect(opening).rejects.toThrow(EventStoreUnavailableError);
    await expect(opening).rejects.toThrow(`${join(folder, 'events.db')} cannot be opened`);
  });

  it('warns when it drops the torn end of an unconfirmed write', async () => {
    const [log, copy] = [createCollectingLog(), join(folder, 'copy')];
    const store = await openEmbeddedEventStore({ folder, log: createSilentLog(), clock: systemClock });
    await store.append('a', noStream, sampleEvents(1));
    await store.append('a', 0, sampleEvents(1));
    mkdirSync(copy);
    writeFileSync(join(copy, 'events.db'), readFileSync(join(folder, 'events.db')));
    writeFileSync(join(copy, 'events.db-wal'), readFileSync(join(folder, 'events.db-wal')).subarray(0, -2000));
    await store.close();
    const torn = await openEmbeddedEventStore({ folder: copy, log, clock: systemClock });
    expect(await torn.head()).toBe(1);
    expect(log.entries[0]).toMatchObject({
      level: 'warn',
      fields: { commits: 1, tornAt: expect.any(Number) as unknown },
    });
    await torn.close();
  });
});
