import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createWriteSide, respond } from '@countersign/commands';
import type { Actor, CommandPorts } from '@countersign/commands';
import { approvalIdOf, deriveCallId } from '@countersign/contracts';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { openReadModel } from '@countersign/read-model';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { createHistory } from '@countersign/shell';
import { createLedger } from '@countersign/ledger';
import type { Ledger } from '@countersign/ledger';
import { createRequestMessage, openLedgerWorld } from '@countersign/ledger/testing';
import type { LedgerWorld } from '@countersign/ledger/testing';

const content = loadPolicy(
  'countersign.policy.yaml',
  `version: 1
default: require
quotas: { pendingPerAgent: 2, deniedBeforeCoolDown: 1, coolDown: 10m, coalesceIdentical: true }
`,
);

const approver: Actor = {
  ...{ tenant: 'default', principal: 'ann', roles: new Set(['approver']), groups: [], agentIds: [], via: 'api' },
  assurance: 'medium',
};
const callOf = (toolCallId: string): object => ({
  ...{ toolCallId, toolName: 'delete_file', arguments: { path: `/${toolCallId}` } },
});

let world: LedgerWorld;
let commands: CommandPorts;
let ledger: Ledger;
let counted: () => Promise<void>;
let close: () => Promise<void>;
beforeEach(async () => {
  world = await openLedgerWorld();
  const { store } = world;
  const ports = { store, clock: systemClock, ids: createSystemIds(), log: createSilentLog() };
  const folder = mkdtempSync(join(tmpdir(), 'countersign-ledger-quotas-'));
  const readModel = await openReadModel({ file: join(folder, 'read-model.db'), source: store, log: ports.log });
  const projection = store.subscribe(readModel.checkpoint(), {
    onEvents: (events) => Promise.resolve(readModel.apply(events)),
    onError: (error) => {
      throw error;
    },
  });
  counted = async () => readModel.reached(await store.head());
  commands = createWriteSide({
    ...{ ...ports, policies: createPolicies([content]), history: createHistory(readModel), writeOnly: true },
    tools: { find: () => undefined },
  });
  const unsigned = { mode: 'allow', tenant: 'default', principal: 'kafka' } as const;
  const openCalls = { of: async () => ({ calls: [], requesters: [], grants: [] }) };
  ledger = createLedger({ ...ports, commands, keys: null, unsigned, openCalls });
  close = async () => {
    await projection.stop();
    readModel.close();
    await world.close();
    rmSync(folder, { recursive: true });
  };
});
afterEach(() => close());

/** Requests after everything recorded is counted. */
async function request(agentId: string, ...calls: readonly object[]): Promise<void> {
  await counted();
  await ledger.handle(createRequestMessage('ToolCallRequested', { runId: 'run-1', agentId, calls }), { attempt: 1 });
}
const lastRefusal = async (): Promise<unknown> => (await world.refusals()).at(-1);

it('refuses what goes beyond the cap by an event with the code, the calls, and when to ask again', async () => {
  await request('a', callOf('1'));
  await request('b', callOf('2'));
  expect(await world.refusals()).toEqual([]);
  // Unsigned producers are one principal that may use every name.
  await request('c', callOf('3'), callOf('4'));
  expect(await lastRefusal()).toMatchObject({
    ...{ code: 'too-many-requests', toolCallIds: ['3', '4'], retryAfterMs: 60_000 },
    detail: expect.stringContaining('principal "kafka" has 2'),
  });
  expect([await world.state('3'), await world.state('4')]).toEqual([null, null]);
});

it('names the identical call that waits, without a time to ask again', async () => {
  await request('a', callOf('1'));
  await request('a', { ...callOf('2'), arguments: { path: '/1' } });
  const refusal = await lastRefusal();
  expect(refusal).toMatchObject({ code: 'already-pending', toolCallIds: ['2'] });
  expect(refusal).toMatchObject({ detail: expect.stringContaining(deriveCallId('default', 'run-1', '1')) });
  expect(refusal).not.toHaveProperty('retryAfterMs');
});

it('says how long a cool-down after denials lasts', async () => {
  await request('a', callOf('1'));
  const approvalId = approvalIdOf(deriveCallId('default', 'run-1', '1'), 1);
  expect(await respond(commands, approver, approvalId, { decision: { type: 'deny' } }, 'deny')).toMatchObject({
    status: 'done',
  });
  await request('a', callOf('2'));
  const { code, retryAfterMs } = (await lastRefusal()) as { readonly code: string; readonly retryAfterMs: number };
  expect(code).toBe('too-many-requests');
  expect(retryAfterMs).toBeGreaterThan(540_000);
  expect(retryAfterMs).toBeLessThanOrEqual(600_000);
});
