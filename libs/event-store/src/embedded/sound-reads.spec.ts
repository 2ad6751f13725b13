import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { isReadable } from '@countersign/contracts';
import type { LogEvent } from '@countersign/contracts';
import { createLog, systemClock } from '@countersign/runtime';
import { EventStoreDamagedError, noStream, soundReadsOf } from '../event-store.js';
import type { EventStore } from '../event-store.js';
import { sampleEvent } from '../sample-events.js';
import { storeOver } from '../store-over.js';
import type { EventWays } from '../store-over.js';
import { createUnreadableWatch } from '../unreadable-watch.js';
import { openEmbeddedEventStore } from './embedded-event-store.js';
import type { EmbeddedEventStore } from './embedded-event-store.js';

let folder: string;
let store: EmbeddedEventStore;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
  store = await openEmbeddedEventStore({ folder, log: createLog({ level: 'silent' }), clock: systemClock });
  await store.append('a', noStream, [sampleEvent('one'), sampleEvent('two'), sampleEvent('three')]);
  await store.append('b', noStream, [sampleEvent('four')]);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

/** Changes the file under the running store, which has the last events in memory as well: so it is opened again. */
async function damage(sql: string): Promise<void> {
  await store.close();
  const file = new DatabaseSync(join(folder, 'events.db'), { defensive: false });
  const head = file.prepare('SELECT position FROM head WHERE id = 1').get()?.['position'];
  file.close();
  expect(head).toBe(4);
  store = await openEmbeddedEventStore({ folder, log: createLog({ level: 'silent' }), clock: systemClock });
  const open = new DatabaseSync(join(folder, 'events.db'), { defensive: false });
  open.exec(sql);
  open.close();
}

const placesOf = (events: readonly LogEvent[]) =>
  events.map((event) => [event.position, event.stream, event.revision, isReadable(event) ? 'sound' : event.unreadable]);
const why = (position: number, what: string): string => `the log is damaged at position ${String(position)}: ${what}`;

describe('reads past damage', () => {
  it('return an event that is not what was recorded in its place, without a word of it', async () => {
    await damage(`UPDATE events SET data = replace(data, 'two', '2'), type = 'Forged' WHERE position = 2`);
    await expect(store.readStream('a')).rejects.toThrow(EventStoreDamagedError);
    const lost = [2, 'a', 1, why(2, 'it is not what was recorded')];
    const events = await soundReadsOf(store).readStream('a');
    expect(placesOf(events)).toEqual([[1, 'a', 0, 'sound'], lost, [3, 'a', 2, 'sound']]);
    expect(JSON.stringify(events)).not.toContain('Forged');
    expect(placesOf(await soundReadsOf(store).readAll(0, 3))).toEqual(placesOf(events));
    expect(placesOf(await soundReadsOf(store).readAll(1, 100))).toEqual([
      lost,
      [3, 'a', 2, 'sound'],
      [4, 'b', 0, 'sound'],
    ]);
    expect(placesOf(await soundReadsOf(store).readStream('b'))).toEqual([[4, 'b', 0, 'sound']]);
    expect([store.verified().isDamaged, store.health().status]).toEqual([true, 'read-only']);
  });

  it('name an event that is missing', async () => {
    await damage('DELETE FROM events WHERE position IN (1, 2)');
    expect(placesOf(await soundReadsOf(store).readAll(0, 100))).toEqual([
      [1, '', 0, why(1, 'it is missing')],
      [2, '', 0, why(2, 'it is missing')],
      [3, 'a', 2, 'sound'],
      [4, 'b', 0, 'sound'],
    ]);
    expect(placesOf(await soundReadsOf(store).readStream('a'))).toEqual([
      [3, 'a', 0, why(3, 'it is missing')],
      [3, 'a', 2, 'sound'],
    ]);
  });
});

describe('a wrapper of a store', () => {
  it('that counts streams which cannot be read counts what only auditors meet', async () => {
    await damage(`UPDATE events SET data = '{}' WHERE position = 2`);
    const watch = createUnreadableWatch(createLog({ level: 'silent' }));
    const reads = soundReadsOf(watch.over(store));
    await reads.readStream('b');
    expect(watch.streams()).toEqual([]);
    await reads.readStream('a');
    await reads.readAll(0, 100);
    expect(watch.streams()).toMatchObject([{ stream: 'a', revision: 1, position: 2 }]);
  });

  it('names every way in which events leave it', () => {
    const { append, readStream, readAll, subscribe, lossOf, sound }: EventStore = store;
    const ways: EventWays = { append, readStream, readAll, subscribe, lossOf, sound };
    expect(storeOver<EventStore>(store, ways).readAll).toBe(readAll);
    // @ts-expect-error -- the reads of auditors would pass around it
    expect(storeOver<EventStore>(store, { append, readStream, readAll, subscribe, lossOf }).readAll).toBe(readAll);
  });
});
