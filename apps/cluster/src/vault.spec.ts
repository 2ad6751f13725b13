import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { NewEvent, SubjectEvent } from '@countersign/contracts';
import { currentSchemaVersion, subjectStream } from '@countersign/contracts';
import { noStream } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { createSimulatedEventStore } from '@countersign/event-store/testing';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import { openVault, othersMs } from './vault.js';
import type { FolderVault } from './vault.js';

const clock = createVirtualClock();
const owner = ['default', 'customer'] as const;
let folder: string;
let raw: EventStore;
let opened: FolderVault[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-vault-'));
  raw = createSimulatedEventStore({ clock });
  opened = [];
});

afterEach(async () => {
  for (const { keys } of opened) keys.close();
  await raw.close();
  rmSync(folder, { recursive: true });
});

/** Starts a process of the cluster. */
async function start(): Promise<FolderVault> {
  const { signal: stopping } = new AbortController();
  const fail = (why: string): void => {
    throw new Error(why);
  };
  const world = { clock, log: createSilentLog(), onStop: () => undefined, fail, stopping };
  const opening = openVault(world, { folder, rootKeyFile: null, acceptLostKeys: false }, raw);
  await clock.advanceAsync(othersMs);
  const vault = await opening;
  opened.push(vault);
  return vault;
}

/** A process that ends after it has begun an erasure: it returns the key, and a response that it kept. */
async function beginErasing(vault: FolderVault) {
  const { id } = await vault.keys.current(...owner);
  const response = vault.answersKey.answers().close('{}');
  vault.keys.retire(...owner);
  vault.keys.beginErasing([id]);
  vault.keys.close();
  return { id, response };
}

const proofOf = (id: string): NewEvent<SubjectEvent> => ({
  eventId: 'd2c3a4b5-0000-4000-8000-000000000001',
  type: 'SubjectErased',
  data: {
    ...{ subject: 'a-hash', keys: [id], calls: 1, values: 1, clearValues: 0 },
    ...{ erasedBy: 'ann', erasedAt: '2026-01-01T00:00:00.000Z', reason: null },
  },
  metadata: { tenant: 'default', callId: null, runId: null, schemaVersion: currentSchemaVersion, commandId: 'erase-1' },
});

it('destroys at the start a key whose erasure is recorded, and forgets the kept responses, without reading it again', async () => {
  const { id, response } = await beginErasing(await start());
  await raw.append(subjectStream('a-hash'), noStream, [proofOf(id)]);
  const { keys, answersKey } = await start();
  expect([keys.find(id), keys.findForCopies(id), keys.erasing()]).toEqual(['erased', undefined, []]);
  expect(answersKey.answers().open(response)).toBeUndefined();
});

it('takes back at the start an erasure that was begun and not recorded', async () => {
  const { id, response } = await beginErasing(await start());
  const { keys, answersKey } = await start();
  expect([typeof keys.find(id), keys.erasing()]).toEqual(['object', []]);
  expect(answersKey.answers().open(response)).toBe('{}');
});
