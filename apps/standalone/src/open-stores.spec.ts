import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { afterEach, expect, it } from '@jest/globals';
import { readStandaloneConfig } from './config.js';
import { openStores } from './open-stores.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-stores-'));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('leaves nothing open, and gives the folder back, when a part cannot be opened', async () => {
  const world = { clock: systemClock, ids: createSystemIds(), log: createSilentLog() };
  const config = readStandaloneConfig({ COUNTERSIGN_DATA: folder });
  // A clock with a wrong time: the policy cannot be recorded after the store, the read model and the projector are
  // open.
  const timeless = { ...world, clock: { ...world.clock, now: () => NaN } };
  await expect(openStores(config, timeless)).rejects.toThrow(RangeError);
  // SQLite deletes these when the last connection closes.
  expect(readdirSync(folder).filter((file) => /-(wal|shm)$/.test(file))).toEqual([]);
  const stores = await openStores(config, world);
  await stores.close();
});
