import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemClock } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import { EventStoreDamagedError, noStream } from '../event-store.js';
import { sampleEvents } from '../sample-events.js';
import { openEmbeddedEventStore } from './embedded-event-store.js';
import type { EmbeddedEventStore } from './embedded-event-store.js';

let folder: string;
let killed: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
  killed = mkdtempSync(join(tmpdir(), 'countersign-'));
});
afterEach(() => {
  for (const each of [folder, killed]) rmSync(each, { recursive: true });
});

const names = ['events.db', 'events.db-wal', 'events.acknowledged'] as const;
const open = (from: string, acceptedEnd?: number): Promise<EmbeddedEventStore> =>
  openEmbeddedEventStore({
    folder: from,
    log: createCollectingLog(),
    clock: systemClock,
    ...(acceptedEnd === undefined ? {} : { acceptedEnd }),
  });

/** Appends commits of two events each. */
async function append(store: EmbeddedEventStore, commits: number): Promise<void> {
  for (let commit = 0; commit < commits; commit += 1) {
    await store.append(`${await store.head()}`, noStream, sampleEvents(2));
  }
}

/** Copies the files of the open store as a kill would leave them, all or some. */
function kill(...only: readonly (typeof names)[number][]): void {
  for (const name of only.length === 0 ? names : only) copyFileSync(join(folder, name), join(killed, name));
}

async function expectOpens(from: string, head: number): Promise<void> {
  const store = await open(from);
  expect(await store.head()).toBe(head);
  await store.close();
}

describe('a log whose process was killed', () => {
  it('opens with its write-ahead log, before, at and after the first commit of a life', async () => {
    const store = await open(folder);
    kill('events.db', 'events.acknowledged');
    await expectOpens(killed, 0);
    await append(store, 1);
    kill();
    await expectOpens(killed, 2);
    await append(store, 20);
    kill();
    await expectOpens(killed, 42);
    await store.close();
  });

  it('is refused without it, and opens at an end that the operator accepts', async () => {
    const store = await open(folder);
    await append(store, 3);
    kill('events.db', 'events.acknowledged');
    await store.close();
    await expect(open(killed)).rejects.toThrow(EventStoreDamagedError);
    await expect(open(killed)).rejects.toThrow(/ends at position 0, but events up to position 6 were acknowledged/);
    await expect(open(killed, 4)).rejects.toThrow(/COUNTERSIGN_ACCEPT_LOG_END=0$/);
    const accepted = await open(killed, 0);
    await append(accepted, 1);
    await accepted.close();
    await expectOpens(killed, 2);
  });

  it('is refused when the main file was copied alone', async () => {
    const store = await open(folder);
    await append(store, 3);
    kill('events.db');
    await expect(open(killed)).rejects.toThrow(/was in use when it was last written, and .*events\.db-wal is missing/);
    writeFileSync(join(killed, 'events.db-wal'), '');
    await expect(open(killed)).rejects.toThrow(EventStoreDamagedError);
    await store.close();
  });

  it('is refused when a bit of its last commit is flipped, or the commit is cut off', async () => {
    const store = await open(folder);
    await append(store, 3);
    kill();
    await store.close();
    const wal = join(killed, 'events.db-wal');
    const right = readFileSync(wal);
    const flipped = Buffer.from(right);
    flipped[flipped.length - 100] = (flipped.at(-100) ?? 0) ^ 1;
    writeFileSync(wal, flipped);
    await expect(open(killed)).rejects.toThrow(/ends at position 4, but events up to position 6 were acknowledged/);
    writeFileSync(wal, right);
    truncateSync(wal, statSync(wal).size - 4096);
    await expect(open(killed)).rejects.toThrow(/ends at position 4, but events up to position 6/);
  });

  it('is left as it was found when it is refused, so that what was damaged can be put right', async () => {
    const store = await open(folder);
    await append(store, 5);
    kill();
    await store.close();
    const wal = join(killed, 'events.db-wal');
    const whole = readFileSync(wal);
    truncateSync(wal, whole.length - 5_000);
    const found = names.map((name) => readFileSync(join(killed, name)));
    await expect(open(killed)).rejects.toThrow(EventStoreDamagedError);
    expect(names.map((name) => readFileSync(join(killed, name)))).toEqual(found);
    writeFileSync(wal, whole);
    await expectOpens(killed, 10);
  });

  it('opens when another program has moved its write-ahead log into the main file', async () => {
    const store = await open(folder);
    await append(store, 3);
    kill();
    await store.close();
    const other = new DatabaseSync(join(killed, 'events.db'));
    other.prepare('SELECT count(*) FROM events').get();
    other.close();
    expect(statSync(join(killed, 'events.db-wal'), { throwIfNoEntry: false })).toBeUndefined();
    await expectOpens(killed, 6);
  });
});

describe('a log whose process ended in order', () => {
  it('opens from a copy of the main file alone, time after time', async () => {
    for (const head of [2, 4]) {
      const store = await open(folder);
      await append(store, 1);
      await store.close();
      kill('events.db');
      await expectOpens(killed, head);
    }
  });

  it('is refused when an older copy is put in its place', async () => {
    const first = await open(folder);
    await append(first, 1);
    await first.close();
    kill('events.db');
    const second = await open(folder);
    await append(second, 1);
    await second.close();
    copyFileSync(join(killed, 'events.db'), join(folder, 'events.db'));
    await expect(open(folder)).rejects.toThrow(/ends at position 2, but events up to position 4 were acknowledged/);
  });

  it('opens when the file of the acknowledged position is torn or missing', async () => {
    const store = await open(folder);
    await append(store, 1);
    await store.close();
    for (const text of ['', '\0'.repeat(34), '0000000000000009 0000000000000002\n']) {
      writeFileSync(join(folder, 'events.acknowledged'), text);
      await expectOpens(folder, 2);
    }
    rmSync(join(folder, 'events.acknowledged'));
    await expectOpens(folder, 2);
  });
});
