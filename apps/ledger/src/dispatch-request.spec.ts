import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Actor, CommandPorts } from '@countersign/commands';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { dispatchRequest } from './dispatch-request.js';
import { callOf, openLedgerWorld, requestMessage } from './testing/ledger-world.js';
import type { LedgerWorld } from './testing/ledger-world.js';

const actor: Actor = {
  tenant: 'default',
  principal: 'kafka',
  roles: new Set(['agent']),
  groups: [],
  agentIds: ['*'],
  via: 'api',
  assurance: 'medium',
};

let world: LedgerWorld;
beforeEach(async () => {
  world = await openLedgerWorld();
});
afterEach(() => world.close());

/** The commands under a policy that asks people once about identical calls, while one of them is pending. */
function whileAnIdenticalCallIsPending(): CommandPorts {
  const { commands } = world;
  const quotas = { pendingPerAgent: null, coolDown: null, coalesceIdentical: true };
  const pending = {
    ...{ callId: 'tc_first', toolCallId: 'first', approvalId: 'apr_first', arguments: { path: '/second' } },
    ...{ sensitive: [], requestedBy: 'kafka' },
  };
  return {
    ...commands,
    policies: { of: (tenant) => ({ ...commands.policies.of(tenant), quotas }) },
    asking: {
      history: {
        pendingOf: () => 1,
        denialsInARow: () => [],
        pendingCalls: () => [pending],
        callsOfBatch: () => [],
        factsOfRun: () => ({ calls: 1, denied: 0, startedAt: null }),
      },
      inTurn: async (_key, work) => work(),
    },
  };
}

it('names the identical call that is pending when it refuses to ask people again', async () => {
  await world.deliver(
    requestMessage('ToolCallRequested', { runId: 'run-1', calls: [callOf('second', { needsApproval: false })] }),
  );
  const { store } = world;
  const openCalls = { of: async () => ({ calls: [], requesters: [], grants: [] }) };
  const ports = { commands: whileAnIdenticalCallIsPending(), store, openCalls };
  const refusal = await dispatchRequest(
    { ...ports, clock: systemClock, ids: createSystemIds() },
    actor,
    { type: 'ApprovalRequested', body: { runId: 'run-1', toolCallId: 'second', reason: 'again' } },
    'ask',
  );
  expect(refusal).toMatchObject({ code: 'already-pending', extra: { toolCallId: 'first' } });
});
