import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import { createCollectingLog, createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import { EventStoreDamagedError, EventStoreUnavailableError, noStream } from '../event-store.js';
import { readable, sampleEvent, sampleEvents } from '../sample-events.js';
import { openEmbeddedEventStore } from './embedded-event-store.js';
import type { EmbeddedEventStore } from './embedded-event-store.js';
import { chainOf, createLeafHash } from './stored-event.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const open = (log = createSilentLog(), clock: Clock = systemClock): Promise<EmbeddedEventStore> =>
  openEmbeddedEventStore({ folder, log, clock });

async function fill(streams: number): Promise<void> {
  const store = await open();
  await Promise.all(
    Array.from({ length: streams }, (_, index) => store.append(`stream-${index}`, noStream, sampleEvents(2))),
  );
  await store.close();
}

/** Changes the file while the store is closed. */
function tamper(...statements: readonly string[]): void {
  const database = new DatabaseSync(join(folder, 'events.db'));
  database.enableDefensive(false);
  for (const statement of statements) database.exec(statement);
  database.close();
}

/** Changes an event and its leaf, as a person who knows the format would. */
function forge(position: number): void {
  const database = new DatabaseSync(join(folder, 'events.db'));
  const row = database
    .prepare(
      'SELECT s.name, e.revision, event_id, type, recorded_at, metadata FROM events e JOIN streams s ON s.id = e.stream WHERE position = ?',
    )
    .get(position) as {
    name: string;
    revision: number;
    event_id: string;
    type: string;
    recorded_at: string;
    metadata: string;
  };
  const data = JSON.stringify({ ...sampleEvent().data, reason: 'forged' });
  const leaf = createLeafHash()(position, row.name, row.revision, [
    row.event_id,
    row.type,
    row.recorded_at,
    row.metadata,
    data,
  ]);
  database.prepare('UPDATE events SET data = ?, leaf = ? WHERE position = ?').run(data, leaf, position);
  database.close();
}

/** Computes every chain and the head again, as a person who knows the format and owns the file can. */
function chainAnew(): void {
  const database = new DatabaseSync(join(folder, 'events.db'));
  let chain: Uint8Array = new Uint8Array(32);
  let last = 0;
  for (const row of database.prepare('SELECT position, leaf FROM events ORDER BY position').all()) {
    last = Number(row['position']);
    chain = chainOf(chain, row['leaf'] as Uint8Array);
    database.prepare('UPDATE events SET chain = ? WHERE position = ?').run(chain, last);
  }
  database.prepare('UPDATE head SET chain = ? WHERE id = 1 AND position = ?').run(chain, last);
  database.close();
}

describe('opening a log', () => {
  it.each([
    ['altered', ["UPDATE events SET data = replace(data, 'tester', 'forger') WHERE position = 3"], 3],
    ['removed', ['DELETE FROM events WHERE position = 3'], 3],
    ['removed at the end', ['DELETE FROM events WHERE position = 6'], 6],
    [
      'exchanged',
      [
        'UPDATE events SET position = position + 100 WHERE position IN (2, 4)',
        'UPDATE events SET position = 106 - position WHERE position > 100',
      ],
      2,
    ],
    ['moved to another stream', ['UPDATE events SET stream = 3, revision = 2 WHERE position = 2'], 2],
    ['of a renamed stream', ["UPDATE streams SET name = 'stream-x' WHERE id = 1"], 1],
    [
      'inserted',
      [
        'INSERT INTO events SELECT 7, stream, 2, event_id, type, recorded_at, metadata, data, leaf, chain FROM events WHERE position = 6',
      ],
      7,
    ],
    [
      'put before the first one',
      [
        'INSERT INTO events SELECT 0, stream, 2, event_id, type, recorded_at, metadata, data, leaf, chain FROM events WHERE position = 6',
      ],
      0,
    ],
    [
      'no longer found by its stream',
      [
        'PRAGMA writable_schema = ON',
        'DROP INDEX events_by_stream',
        'CREATE UNIQUE INDEX events_by_stream ON events (stream, revision) WHERE position <> 5',
        "UPDATE sqlite_schema SET sql = 'CREATE UNIQUE INDEX events_by_stream ON events (stream, revision)' WHERE name = 'events_by_stream'",
      ],
      5,
    ],
  ])('is refused when an event was %s', async (_, statements, position) => {
    await fill(3);
    tamper(...statements);
    const error = await open().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EventStoreDamagedError);
    expect((error as EventStoreDamagedError).position).toBe(position);
    expect((error as EventStoreDamagedError).message).toContain(`position ${position}`);
  });

  it('is refused when an event was forged together with its leaf: the chain shows it', async () => {
    await fill(3);
    forge(3);
    await expect(open()).rejects.toThrow('the event at position 3 does not continue the chain of those before it');
  });

  it.each([0, 1000])('serves no event that the owner adds at position %i of a running store', async (position) => {
    await fill(3);
    const store = await open();
    const [stream] = (await store.readAll(0, 1)).map((event) => event.stream);
    const before = await store.readStream(stream!);
    const database = new DatabaseSync(join(folder, 'events.db'));
    database.exec(
      `INSERT INTO events SELECT ${position}, stream, ${before.length}, event_id, type, recorded_at, metadata, data, leaf, chain FROM events WHERE position = 1`,
    );
    const row = database.prepare('SELECT * FROM events WHERE position = ?').get(position)!;
    const leaf = createLeafHash()(position, stream!, before.length, [
      ...([row['event_id'], row['type'], row['recorded_at'], row['metadata'], row['data']] as [
        string,
        string,
        string,
        string,
        string,
      ]),
    ]);
    database.prepare('UPDATE events SET leaf = ? WHERE position = ?').run(leaf, position);
    database.close();
    await expect(store.readStream(stream!)).rejects.toThrow(EventStoreDamagedError);
    await store.close();
  });

  it('takes a log whose owner forged an event and computed all hashes again: only a copy elsewhere shows that', async () => {
    await fill(3);
    forge(3);
    chainAnew();
    const store = await open();
    expect(await store.verify()).toEqual({ status: 'ok', verified: 6 });
    expect(readable(await store.readAll(2, 1)).map(({ data }) => data)).toMatchObject([{ reason: 'forged' }]);
    await store.close();
  });

  it.each([
    ['the head is gone', 'DELETE FROM head'],
    ['the head is older', 'UPDATE head SET position = 4'],
    ['a table was added', 'CREATE TABLE more (id INTEGER)'],
    ['it is not marked as ours', 'PRAGMA application_id = 7'],
  ])('is refused when %s', async (_, statement) => {
    await fill(3);
    tamper(statement);
    await expect(open()).rejects.toThrow(EventStoreDamagedError);
  });
});

describe('verification', () => {
  it('proves the whole log, and tells how far it is', async () => {
    await fill(120);
    const store = await open();
    const progress: number[] = [];
    expect(await store.verify({ onProgress: (verified) => void progress.push(verified) })).toEqual({
      status: 'ok',
      verified: 240,
    });
    expect(progress).toEqual([100, 200, 240]);
    await store.close();
  });

  it('stops when it is told to, and when the store is closed', async () => {
    await fill(120);
    const store = await open();
    expect(await store.verify({ signal: AbortSignal.abort() })).toEqual({ status: 'stopped', verified: 100 });
    const verifying = store.keepVerifying();
    await store.close();
    await verifying;
  });

  it('finds in the background what opening did not look at, and makes the store read-only', async () => {
    await fill(5100);
    tamper("UPDATE events SET data = replace(data, 'tester', 'forger') WHERE position = 51");
    const log = createCollectingLog();
    const store = await open(log);
    expect(store.health()).toEqual({ status: 'ok' });
    await store.keepVerifying();
    expect(store.verified()).toEqual({ position: 0, atMs: null, isDamaged: true });
    expect(store.health()).toMatchObject({
      status: 'read-only',
      why: expect.stringContaining('position 51') as unknown,
    });
    expect(log.entries.at(-1)).toMatchObject({ level: 'error' });
    await expect(store.append('new', noStream, [sampleEvent()])).rejects.toThrow(EventStoreUnavailableError);
    expect(await store.readStream('stream-24')).toHaveLength(2);
    await store.close();
  });

  it('is done by each read: damage that one meets makes the store read-only at once', async () => {
    await fill(5100);
    tamper("UPDATE events SET data = replace(data, 'tester', 'forger') WHERE position = 51");
    const store = await open();
    await store.append('before', noStream, [sampleEvent()]);
    await expect(store.readAll(49, 5)).rejects.toThrow(
      'the event at position 51 (stream "stream-25", revision 0) is not what was recorded',
    );
    expect(store.verified()).toMatchObject({ isDamaged: true });
    await expect(store.append('new', noStream, [sampleEvent()])).rejects.toThrow(EventStoreUnavailableError);
    await expect(store.readStream('stream-25')).rejects.toThrow(EventStoreDamagedError);
    expect(await store.readStream('stream-24')).toHaveLength(2);
    await store.close();
  });

  it('goes on: what is new after a minute, and the whole log after a day', async () => {
    await fill(3);
    const clock = createVirtualClock();
    const store = await open(createSilentLog(), clock);
    const pass = async (ms: number, until: () => boolean): Promise<void> => {
      clock.advance(ms);
      for (let looks = 0; looks < 1_000 && !until(); looks += 1) {
        await nextTurn();
        clock.advance(0);
      }
      expect(until()).toBe(true);
    };
    const isVerified = (position: number) => () => store.verified().position === position;
    const verifying = store.keepVerifying();
    await pass(0, isVerified(6));
    await store.append('new', noStream, [sampleEvent()]);
    await pass(60_000, isVerified(7));
    expect(store.verified()).toEqual({ position: 7, atMs: clock.now(), isDamaged: false });
    tamper("UPDATE events SET data = replace(data, 'tester', 'forger') WHERE position = 2");
    await store.append('newer', noStream, [sampleEvent()]);
    await pass(60_000, isVerified(8));
    await pass(24 * 3_600_000, () => store.verified().isDamaged);
    await verifying;
    expect(store.health()).toMatchObject({
      status: 'read-only',
      why: expect.stringContaining('position 2') as unknown,
    });
    await store.close();
  });

  it('is not needed to notice that an event is missing where it is read', async () => {
    await fill(5100);
    tamper('DELETE FROM events WHERE position = 51 OR position BETWEEN 101 AND 180');
    const store = await open();
    await expect(store.readAll(49, 5)).rejects.toThrow('the event at position 51 is missing');
    await expect(store.readAll(100, 50)).rejects.toThrow('the event at position 101 is missing');
    await expect(store.readStream('stream-25')).rejects.toThrow('revision 0 of stream "stream-25" is missing');
    expect(await store.verify()).toMatchObject({ status: 'damaged', error: { position: 51 } });
    await store.close();
  });

  it('ends a subscription that meets a damaged event, before that event', async () => {
    await fill(5100);
    tamper("UPDATE events SET type = 'ToolCallAllowed' WHERE position = 151");
    const store = await open();
    let seen = 0;
    const error = await new Promise((resolve) => {
      store.subscribe(0, { onEvents: (events) => void (seen += events.length), onError: resolve });
    });
    expect(seen).toBeLessThan(151);
    expect(error).toMatchObject({ name: 'EventStoreDamagedError', position: 151 });
    await store.close();
  });
});
