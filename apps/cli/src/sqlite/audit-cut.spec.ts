import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { NewEvent } from '@countersign/contracts';
import { toolCallStream } from '@countersign/contracts';
import { openEmbeddedEventStore } from '@countersign/event-store';
import { createSilentLog } from '@countersign/runtime/testing';
import { systemClock } from '@countersign/runtime';
import { createCliRun } from '../testing/cli-run.js';

let folder: string;
let data: string;
let copy: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
  [data, copy] = [join(folder, 'data'), join(folder, 'copy')];
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});
const run = createCliRun({});
const cut = (...more: readonly string[]) => run('audit', 'cut', data, '-o', copy, ...more);
const open = (acceptedEnd?: number) =>
  openEmbeddedEventStore({
    ...{ folder: data, log: createSilentLog(), clock: systemClock },
    ...(acceptedEnd !== undefined && { acceptedEnd }),
  });

/** Records events of these tenants, each in a stream of its own. */
async function record(...tenants: readonly string[]): Promise<void> {
  const store = await open();
  for (const [at, tenant] of tenants.entries()) {
    const noted = {
      eventId: `e-${String(at)}`,
      type: 'Noted',
      metadata: { tenant },
      data: { note: `n-${String(at)}` },
    };
    const stream = toolCallStream(`tc_${'abcdefghijklmnopqrstuvwxyz'.slice(at, at + 1).repeat(26)}`);
    await store.append(stream, -1, [noted as unknown as NewEvent]);
  }
  await store.close();
}

function damage(position: number): void {
  const log = new DatabaseSync(join(data, 'events.db'), { defensive: false });
  log.prepare("UPDATE events SET data = '{}' WHERE position = ?").run(position);
  log.close();
}

it('cuts nothing of a sound log, and none before the damage', async () => {
  await record('default', 'default', 'default', 'default');
  const before = readFileSync(join(data, 'events.db'));
  expect(await cut('--at', '2')).toMatchObject({ code: 5, err: expect.stringContaining('nothing is cut') as unknown });
  damage(3);
  const damaged = readFileSync(join(data, 'events.db'));
  expect(await cut('--at', '1')).toMatchObject({
    code: 5,
    err: expect.stringContaining('at index 2, not 1') as unknown,
  });
  expect(readFileSync(join(data, 'events.db'))).toEqual(damaged);
  expect(damaged).not.toEqual(before);
  expect(existsSync(copy)).toBe(false);
});

it('copies the log byte for byte, and cuts it from the damaged event on; the start must name the new end', async () => {
  await record('default', 'default', 'default', 'default');
  damage(3);
  const damaged = readFileSync(join(data, 'events.db'));
  writeFileSync(join(data, 'read-model.db'), 'made from the log');
  writeFileSync(join(data, 'events.cut.db'), 'what a kill has left of an earlier cut');
  const { code, out } = await cut('--at', '2', '--json');
  expect({ code, printed: JSON.parse(out) as unknown }).toEqual({ code: 0, printed: { end: 2, from: 4, copy } });
  expect(readFileSync(join(copy, 'events.db'))).toEqual(damaged);
  expect(readdirSync(data).filter((name) => /^(?:events\.cut|read-model)/.test(name))).toEqual([]);
  await expect(open()).rejects.toThrow(/ends at position 2, but events up to position 4 were acknowledged/);
  const store = await open(2);
  expect((await store.readAll(0, 10)).map(({ position, eventId }) => [position, eventId])).toEqual([
    [1, 'e-0'],
    [2, 'e-1'],
  ]);
  await store.append('toolCall-after', -1, [
    { eventId: 'after', type: 'Noted', metadata: { tenant: 'default' }, data: {} } as unknown as NewEvent,
  ]);
  await store.close();
  expect((await run('audit', 'verify', data, '--json')).out).not.toContain('"check":"store","ok":false');
  expect(await run('audit', 'salvage', copy, '-o', join(folder, 'out'))).toMatchObject({ code: 1 });
});

it('counts the events of the tenant that is named', async () => {
  await record('default', 'acme', 'default', 'acme', 'default');
  damage(4);
  expect(await cut('--at', '1')).toMatchObject({ code: 2, err: expect.stringContaining('--tenant') as unknown });
  expect(await cut('--at', '2', '--tenant', 'acme')).toMatchObject({ code: 5 });
  expect(await cut('--at', '1', '--tenant', 'acme', '--json')).toMatchObject({ code: 0 });
});

it('can give up all of a log whose first event is damaged', async () => {
  await record('default', 'default');
  damage(1);
  expect((await cut('--at', '0', '--json')).code).toBe(0);
  const store = await open(0);
  expect(await store.readAll(0, 10)).toEqual([]);
  await store.close();
});

it('gives up acknowledged events that are missing at the end, such as those after damage in the write-ahead log', async () => {
  await record('default', 'default');
  writeFileSync(join(data, 'events.acknowledged'), `${'5'.padStart(16, '0')} ${'5'.padStart(16, '0')}\n`);
  expect(await cut('--at', '1')).toMatchObject({
    code: 5,
    err: expect.stringContaining('at index 2, not 1') as unknown,
  });
  const { code, out } = await cut('--at', '2', '--json');
  expect({ code, printed: JSON.parse(out) as unknown }).toEqual({ code: 0, printed: { end: 2, from: 5, copy } });
  await expect(open()).rejects.toThrow(/up to position 5 were acknowledged/);
  const store = await open(2);
  expect(await store.readAll(0, 10)).toHaveLength(2);
  await store.close();
});

it('does not touch the folder of a running server', async () => {
  await record('default', 'default');
  damage(2);
  const holder = new DatabaseSync(join(data, 'events.lock'));
  holder.exec('BEGIN EXCLUSIVE');
  expect(await cut('--at', '1')).toMatchObject({ code: 7, err: expect.stringContaining('in use') as unknown });
  holder.close();
  expect(existsSync(copy)).toBe(false);
});
