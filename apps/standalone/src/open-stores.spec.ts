import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemClock, createSystemIds } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { afterEach, expect, it } from '@jest/globals';
import { readStandaloneConfig } from './config.js';
import { openStores } from './open-stores.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-stores-'));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('leaves nothing open, and gives the folder back, when a part cannot be opened', async () => {
  const world = { clock: createSystemClock(), ids: createSystemIds(), log: createSilentLog() };
  const config = readStandaloneConfig({ COUNTERSIGN_DATA: folder });
  // A clock that tells no time: the policy cannot be recorded, when the store, the views and the projector are open.
  const timeless = { ...world, clock: { ...world.clock, now: () => NaN } };
  await expect(openStores(config, timeless)).rejects.toThrow(RangeError);
  // SQLite takes these away when the last connection is closed.
  expect(readdirSync(folder).filter((file) => /-(wal|shm)$/.test(file))).toEqual([]);
  const stores = await openStores(config, world);
  await stores.close();
});
