import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { formatVkey } from '@countersign/audit';
import { approvedStory, honestCheckpoint, testSigner } from '@countersign/audit/testing';
import type { NewEvent, StoredEvent } from '@countersign/contracts';
import { openEmbeddedEventStore } from '@countersign/event-store';
import { createLog, systemClock } from '@countersign/runtime';
import { createCliRun } from '../testing/cli-run.js';
import { meddle } from './meddle.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const run = createCliRun({});

interface Line {
  readonly check?: string;
  readonly ok?: boolean;
  readonly index?: number;
  readonly detail?: string;
}

/** Verifies against an honest key and an honest checkpoint of these events. */
async function verified(source: string, events: readonly StoredEvent[], ...more: readonly string[]) {
  const keys = join(folder, 'keys.txt');
  writeFileSync(keys, formatVkey(testSigner.key));
  const args = ['audit', 'verify', source, '--vkey', keys, '--since', honestCheckpoint(events), '--json', ...more];
  const { code, out } = await run(...args);
  const lines = out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
  return { code, findings: lines.filter(({ ok }) => ok === false) };
}

/** The log of an approved call, in the folder. */
async function recorded(): Promise<readonly StoredEvent[]> {
  const store = await openEmbeddedEventStore({ folder, log: createLog({ level: 'silent' }), clock: systemClock });
  for (const { stream, revision, eventId, type, data, metadata } of approvedStory().events) {
    await store.append(stream, revision - 1, [{ eventId, type, data, metadata } as unknown as NewEvent]);
  }
  const stored = await store.readAll(0, 1000);
  await store.close();
  return stored as unknown as readonly StoredEvent[];
}

describe('countersign audit verify of a data folder does not prove', () => {
  it.each([
    ['a value that is there twice in the text', `replace(data, '"amount":5', '"amount":500,"amount":5')`],
    ['a number of more digits than it keeps', `replace(data, '"amount":5', '"amount":5.0000000000000000001')`],
  ])('%s', async (_, changed) => {
    const events = await recorded();
    expect(await verified(folder, events)).toEqual({ code: 0, findings: [] });
    meddle(folder, `UPDATE events SET data = ${changed} WHERE position = 2`);
    expect((await verified(folder, events)).findings).toMatchObject([{ check: 'read', index: 1 }]);
  });

  it('an id that two events have', async () => {
    const events = await recorded();
    meddle(folder, `UPDATE events SET event_id = (SELECT event_id FROM events WHERE position = 1) WHERE position = 4`);
    const { code, findings } = await verified(folder, events);
    expect(code).toBe(1);
    const detail = 'the event at index 0 has the same id';
    expect(findings).toContainEqual(expect.objectContaining({ check: 'order', index: 3, detail }));
  });

  it('the end of a call in the log of another tenant', async () => {
    const events = await recorded();
    meddle(folder, `UPDATE events SET metadata = json_set(metadata, '$.tenant', 'ghost') WHERE position = 5`);
    const { code, findings } = await verified(folder, events.slice(0, 4), '--tenant', 'default');
    expect(code).toBe(1);
    expect(findings).toMatchObject([{ check: 'order', detail: expect.stringContaining('says "ghost"') as unknown }]);
  });

  it('a row without a position, to which its stream alone leads', async () => {
    const events = await recorded();
    meddle(
      folder,
      `CREATE TABLE other AS SELECT * FROM events; DROP TABLE events; ALTER TABLE other RENAME TO events;
      INSERT INTO events SELECT NULL, stream, revision + 1, event_id || 'x', type, recorded_at, metadata, data, leaf, chain
        FROM events WHERE position = 5;
      CREATE UNIQUE INDEX events_by_stream ON events (stream, revision)`,
    );
    expect((await verified(folder, events)).findings).toMatchObject([{ check: 'store' }]);
  });

  it('an index that hides the last event of a stream', async () => {
    const events = await recorded();
    meddle(
      folder,
      `PRAGMA writable_schema = ON; DROP INDEX events_by_stream;
      CREATE UNIQUE INDEX events_by_stream ON events (stream, revision) WHERE position < 5;
      UPDATE sqlite_schema SET sql = 'CREATE UNIQUE INDEX events_by_stream ON events (stream, revision)' WHERE name = 'events_by_stream'`,
    );
    expect((await verified(folder, events)).findings).toMatchObject([{ check: 'store' }]);
  });
});

describe('countersign audit verify of an export does not prove', () => {
  const lines = approvedStory().events.map((event) => JSON.stringify(event));

  it.each([
    ['another member of an event', (line: string) => line.replace('"data":', '"approvedBy":"alice","data":')],
    [
      'a number of more digits than it keeps',
      (line: string) => line.replace('"amount":5', '"amount":5.0000000000000000001'),
    ],
    [
      'words in the note of a move',
      (line: string) =>
        line.replace(
          '"metadata":{',
          `"metadata":{"moved":{"recordedAt":"${approvedStory().events[1]?.recordedAt ?? ''}","by":"alice"},`,
        ),
    ],
  ])('%s', async (_, change) => {
    const { events } = approvedStory();
    const file = join(folder, 'events.ndjson');
    writeFileSync(file, `${lines.join('\n')}\n`);
    expect(await verified(file, events)).toEqual({ code: 0, findings: [] });
    writeFileSync(file, `${lines.with(1, change(lines[1] ?? '')).join('\n')}\n`);
    const { code, findings } = await verified(file, events);
    expect(code).toBe(1);
    expect(findings).toContainEqual(expect.objectContaining({ check: 'read', index: 1 }));
  });
});
