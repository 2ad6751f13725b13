import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { NewEvent, StoredEvent } from '@countersign/contracts';
import { toolCallStream } from '@countersign/contracts';
import { openEmbeddedEventStore } from '@countersign/event-store';
import { createSilentLog } from '@countersign/runtime/testing';
import { systemClock } from '@countersign/runtime';
import { createCliRun } from '../testing/cli-run.js';

let folder: string;
let data: string;
let out: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
  data = join(folder, 'data');
  out = join(folder, 'out');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});
const run = createCliRun({});

/** The number in the letters a to j. */
const letters = (call: number): string =>
  String(call).replaceAll(/[0-9]/g, (digit) => 'abcdefghij'[Number(digit)] ?? '');
const streamOf = (call: number): string => toolCallStream(`tc_${letters(call).padStart(26, 'z')}`);
const noteOf = (call: number, revision: number): string =>
  `note-${String(call)}-${String(revision)}-${'x'.repeat(600)}`;

/** Records calls with three events each. */
async function record(calls: number): Promise<void> {
  const store = await openEmbeddedEventStore({ folder: data, log: createSilentLog(), clock: systemClock });
  for (let revision = 0; revision < 3; revision += 1) {
    for (let call = 0; call < calls; call += 1) {
      const event = {
        eventId: `e-${String(call)}-${String(revision)}`,
        type: 'Noted',
        metadata: { tenant: 'default' },
      };
      const noted = { ...event, data: { note: noteOf(call, revision) } } as unknown as NewEvent;
      await store.append(streamOf(call), revision - 1, [noted]);
    }
  }
  await store.close();
}

function meddle(statement: string): void {
  const log = new DatabaseSync(join(data, 'events.db'));
  log.enableDefensive(false);
  log.exec(statement);
  log.close();
}

async function salvaged() {
  const { code, out: printed } = await run('audit', 'salvage', data, '-o', out, '--json');
  const read = (name: string): readonly StoredEvent[] =>
    readFileSync(join(out, name), 'utf8')
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as StoredEvent]));
  const report = JSON.parse(printed) as { readonly sound: number; readonly unsound: number; readonly calls: string[] };
  return {
    code,
    report,
    sound: read('events.ndjson'),
    damaged: read('damaged.ndjson'),
  };
}

it('writes all of a sound log, in its stored form', async () => {
  await record(10);
  const { code, report, sound, damaged } = await salvaged();
  expect({ code, damaged, calls: report.calls }).toEqual({ code: 0, damaged: [], calls: [] });
  expect(sound.map(({ position }) => position)).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
  const again = await run('audit', 'salvage', data, '-o', out);
  expect(again).toMatchObject({ code: 2, err: expect.stringContaining('is not empty') as unknown });
});

it('keeps what is sound around an altered event and a lost one, and names the calls that they touch', async () => {
  await record(10);
  meddle("UPDATE events SET data = replace(data, 'note-3-1', 'note-3-9') WHERE event_id = 'e-3-1'");
  meddle("DELETE FROM events WHERE event_id = 'e-7-1'");
  const { code, report, sound, damaged } = await salvaged();
  expect(code).toBe(1);
  expect(damaged).toEqual([
    expect.objectContaining({ position: 14, stream: streamOf(3), revision: 1, why: 'it is not what was recorded' }),
    expect.objectContaining({ position: 18, stream: null, why: 'position 18 is missing' }),
  ]);
  expect(sound).toHaveLength(28);
  expect(report.calls).toEqual([streamOf(3), streamOf(7)].map((stream) => stream.slice('toolCall-'.length)));
});

it('reads around a damaged page of the database file', async () => {
  await record(400);
  const file = join(data, 'events.db');
  const bytes = readFileSync(file);
  const at = bytes.indexOf(noteOf(200, 1));
  // The page in which the note is: its header and everything in it.
  bytes.fill(0xff, Math.floor(at / 4096) * 4096, Math.floor(at / 4096) * 4096 + 4096);
  writeFileSync(file, bytes);
  const { code, report, damaged } = await salvaged();
  expect(code).toBe(1);
  expect(report.sound).toBeGreaterThan(1_150);
  expect(report.sound + report.unsound).toBe(1_200);
  expect(damaged.every(({ position }) => Math.abs(position - 601) < 20)).toBe(true);
});

it('reads what is left of a file whose second half is missing', async () => {
  await record(400);
  const file = join(data, 'events.db');
  truncateSync(file, Math.floor(statSync(file).size / 2) + 123);
  const { code, report } = await salvaged();
  expect(code).toBe(1);
  expect(report.sound).toBeGreaterThan(300);
  expect(report.sound + report.unsound).toBe(1_200);
  expect(await run('audit', 'verify', data)).toMatchObject({ code: 1 });
});

it('names the events that were acknowledged after the end of a sound log', async () => {
  await record(10);
  writeFileSync(join(data, 'events.acknowledged'), `${'35'.padStart(16, '0')} ${'35'.padStart(16, '0')}\n`);
  const { code, report, damaged } = await salvaged();
  expect([code, report.sound]).toEqual([1, 30]);
  expect(damaged).toEqual([
    expect.objectContaining({ why: 'the log ends at position 30, and events up to position 35 were acknowledged' }),
  ]);
  expect(await run('audit', 'verify', data, '--json')).toMatchObject({
    code: 1,
    out: expect.stringContaining('were acknowledged') as unknown,
  });
});
