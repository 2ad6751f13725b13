import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { currentSchemaVersion, policyStream } from '@countersign/contracts';
import { requestToolCalls } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { sampleEvent } from '@countersign/event-store/testing';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { readStandaloneConfig } from './config.js';
import { openStores } from './open-stores.js';
import type { Stores } from './open-stores.js';

let folder: string;
let stores: Stores;
let log: ReturnType<typeof createCollectingLog>;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-policy-'));
  writePolicy('first');
  await open();
});
afterEach(async () => {
  await stores.close();
  rmSync(folder, { recursive: true, force: true });
});

const policyFile = () => join(folder, 'policy.yaml');
const writePolicy = (id: string): void => {
  writeFileSync(policyFile(), `version: 1\nrules: [{ id: ${id}, match: { tools: [pay] }, then: allow }]\n`);
};

async function open(more: Record<string, string> = {}): Promise<void> {
  log = createCollectingLog();
  const env = { COUNTERSIGN_DATA: join(folder, 'data'), COUNTERSIGN_POLICY: policyFile(), ...more };
  stores = await openStores(readStandaloneConfig(env), { clock: systemClock, ids: createSystemIds(), log });
}

async function restart(more?: Record<string, string>): Promise<void> {
  await stores.close();
  // It was built while this process trusted what it had recorded itself.
  rmSync(join(folder, 'data/read-model.db'), { force: true });
  await open(more);
}

/** A later version put a policy in force. */
async function recordLater(): Promise<string> {
  const { metadata, eventId } = sampleEvent();
  const { data } = (await activations()).at(-1) as unknown as { data: ReturnType<typeof sampleEvent>['data'] };
  const later = { ...metadata, runId: null, schemaVersion: currentSchemaVersion + 1 };
  await stores.store.append(policyStream('default'), 0, [{ eventId, type: 'PolicyActivated', data, metadata: later }]);
  return eventId;
}

const activations = () => stores.store.readStream(policyStream('default'));

let last = 0;
async function request(): Promise<string> {
  const agent: Actor = {
    ...{ tenant: 'default', principal: 'agent', roles: new Set(['agent'] as const), groups: [], agentIds: ['*'] },
    ...{ via: 'api', assurance: 'medium' },
  };
  const toolCallId = `call-${String((last += 1))}`;
  const body = { runId: 'run-1', calls: [{ toolName: 'pay', toolCallId, arguments: {} }] };
  return requestToolCalls(stores.commands, agent, body, toolCallId).then(
    ({ status }) => status,
    (error: unknown) => (error as { refusal: { code: string } }).refusal.code,
  );
}

it('starts on a policy of a later version, judges nothing of its tenant, and hides it by no record of its own', async () => {
  expect(await request()).toBe('done');
  const eventId = await recordLater();
  await restart();
  expect(await request()).toBe('unreadable');
  writePolicy('second');
  await delay(1500);
  expect(await request()).toBe('unreadable');
  await restart();
  expect(await request()).toBe('unreadable');
  expect(await activations()).toHaveLength(2);
  expect(stores.readModel.unreadable.all()).toMatchObject([{ stream: 'policy-default', eventId }]);
  expect(log.entries.map(({ fields }) => String((fields as { error?: unknown }).error)).join()).toContain(
    `COUNTERSIGN_ACCEPT_UNREADABLE_POLICY=${eventId}`,
  );
});

it('judges again after the operator gave that policy up by its id, and after later starts', async () => {
  const eventId = await recordLater();
  await restart({ COUNTERSIGN_ACCEPT_UNREADABLE_POLICY: eventId });
  expect(await request()).toBe('done');
  expect(await activations()).toHaveLength(3);
  await restart();
  expect(await request()).toBe('done');
  expect(stores.unreadable.streams()).toEqual([]);
});
