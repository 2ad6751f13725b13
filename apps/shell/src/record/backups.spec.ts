import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSimulatedEventStore, createSimulatedLog } from '@countersign/event-store/testing';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import { followBackups } from './backups.js';
import { openSystemLog } from './system-log.js';
import type { SystemLog } from './system-log.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-backups-'));
const simulated = createSimulatedLog();
afterAll(() => rmSync(folder, { recursive: true }));

const digest = `sha256:${'0a'.repeat(32)}`;
const backupId = '7b1c2f6e-5d3a-4c8b-9e0f-112233445566';
const file = join(folder, `backup-${backupId}.json`);
const mark = {
  ...{ backupId, to: 12, keys: true, manifest: digest, madeAt: '2026-11-27T10:00:00.000Z' },
  tenants: { default: { events: 9, checkpoint: null }, acme: { events: 3, checkpoint: 'a note' } },
};
const recorded = () => simulated.events.map(({ type, metadata, data }) => [type, metadata.tenant, data]);

/** One look of a process that starts with the folder: what it warns of. */
async function look(record: (system: SystemLog) => SystemLog['record'] = (system) => system.record) {
  const log = createCollectingLog();
  const store = createSimulatedEventStore({ clock: systemClock, log: simulated });
  const system = openSystemLog({ store, folder, clock: systemClock, ids: createSystemIds(), log });
  const backups = followBackups({ folder, system: { ...system, record: record(system) }, clock: systemClock, log });
  backups.start();
  // As long as it takes: a stop only ends what comes after the mark.
  while (log.entries.length === 0 && existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 1));
  await backups.stop();
  await system.close();
  return log.entries.map(({ message }) => message);
}

it('records a backup once in the log of each tenant, also when it was recorded in part before', async () => {
  writeFileSync(file, JSON.stringify(mark));
  const warned = await look((system) => (tenant, event) => {
    if (tenant === 'acme') return Promise.reject(new Error('killed'));
    return system.record(tenant, event);
  });
  expect(recorded()).toHaveLength(1);
  const warning = expect.stringContaining('a backup is not recorded yet') as unknown;
  expect([existsSync(file), warned]).toEqual([true, [warning]]);

  expect(await look()).toEqual([]);
  const { tenants, ...backup } = mark;
  const processId = expect.any(String) as unknown;
  const events = Object.entries(tenants).map(([tenant, part]) => ['Backup', tenant, { processId, ...backup, ...part }]);
  expect(recorded()).toEqual(events);

  // Killed before the mark was removed.
  writeFileSync(file, JSON.stringify(mark));
  expect(await look()).toEqual([]);
  expect([recorded(), existsSync(file)]).toEqual([events, false]);
});

it('leaves a mark that is not what countersign backup wrote, and says so once', async () => {
  writeFileSync(file, JSON.stringify({ ...mark, to: 'the end' }));
  const warned = await look();
  expect([warned, existsSync(file)]).toEqual([[expect.stringContaining('not recorded yet')], true]);
});
