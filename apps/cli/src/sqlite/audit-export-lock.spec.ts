import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { approvedStory } from '@countersign/audit/testing';
import type { NewEvent } from '@countersign/contracts';
import { openEmbeddedEventStore } from '@countersign/event-store';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { createCliRun } from '../testing/cli-run.js';

let folder: string;
let data: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
  data = join(folder, 'data');
  const store = await openEmbeddedEventStore({ folder: data, log: createSilentLog(), clock: systemClock });
  const { events } = approvedStory();
  for (const { stream, revision, eventId, type, data: content, metadata } of events)
    await store.append(stream, revision - 1, [{ eventId, type, data: content, metadata } as NewEvent]);
  await store.close();
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});
const run = createCliRun({});
const exported = (name: string, ...more: readonly string[]) =>
  run('audit', 'export', data, '-o', join(folder, name), ...more);

/** A program that holds the lock of an export until it is killed. */
const holding = `
  const { DatabaseSync } = require('node:sqlite');
  const [file] = process.argv.slice(1);
  new DatabaseSync(file + '.lock').exec('BEGIN EXCLUSIVE');
  require('node:fs').writeFileSync(file + '.pid', process.pid + '\\n');
  console.log('locked');
  setInterval(() => undefined, 1000);`;

it('says which process exports into the folder, and goes on there once that was killed', async () => {
  const bundle = join(folder, 'shared');
  mkdirSync(bundle);
  const other = spawn(process.execPath, ['-e', holding, join(bundle, '.countersign-export')]);
  await once(other.stdout, 'data');
  const { code, err } = await exported('shared');
  expect(code).toBe(7);
  // A line may end inside a long path.
  const withoutSpaces = (text: string): string => text.replaceAll(/\s+/g, '');
  const said = `Another export writes to ${bundle}: process ${String(other.pid)}. Wait until it ends`;
  expect(withoutSpaces(err)).toContain(withoutSpaces(said));
  expect(readdirSync(bundle).filter((name) => !name.startsWith('.'))).toEqual([]);
  other.kill('SIGKILL');
  await once(other, 'exit');
  expect((await exported('shared')).code).toBe(0);
  expect(readdirSync(bundle).filter((name) => name.startsWith('.'))).toEqual([]);
});

it('leaves nothing where no export can begin', async () => {
  expect((await exported('none', '--tenant', 'none')).code).toBe(2);
  expect(existsSync(join(folder, 'none'))).toBe(false);
});

it('zips a bundle that was complete when it was killed', async () => {
  expect((await exported('whole.zip.partial')).code).toBe(0);
  expect((await exported('whole.zip')).code).toBe(0);
  expect(readdirSync(folder).filter((name) => name.startsWith('whole'))).toEqual(['whole.zip']);
});
