import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findCall, withoutWrites } from '@countersign/commands';
import type { Actor, CommandPorts } from '@countersign/commands';
import { deriveCallId } from '@countersign/contracts';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { dispatchRequest } from './dispatch-request.js';
import type { Request } from './parse-request.js';
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

describe('another message under the id of an earlier one', () => {
  const [runId, toolCallId] = ['run-1', 'a'];
  const call = { toolCallId, toolName: 'delete_file', arguments: { n: 1 } };
  const about = { runId, toolCallId };
  const messages: readonly (readonly [first: Request, other: Request, more?: object])[] = [
    [
      { type: 'ApprovalRequested', body: { ...about, reason: 'one' } },
      { type: 'ApprovalRequested', body: { ...about, reason: 'two' } },
    ],
    [
      { type: 'ApprovalRequested', body: { ...about, description: 'one' } },
      { type: 'ApprovalRequested', body: { ...about, description: 'two' } },
      { needsApproval: true },
    ],
    [
      { type: 'ToolCallCancelled', body: { ...about, reason: 'one' } },
      { type: 'ToolCallCancelled', body: { ...about, reason: 'two' } },
    ],
    [
      { type: 'ToolCallCancelled', body: { runId, reason: 'one' } },
      { type: 'ToolCallCancelled', body: { runId, reason: 'two' } },
    ],
    [
      { type: 'ToolCallCancelled', body: { runId, reason: 'one' } },
      { type: 'ToolCallCancelled', body: { runId: 'run-2', reason: 'one' } },
    ],
    [
      { type: 'ToolOutputSubmitted', body: { ...about, status: 'succeeded', output: 1 } },
      { type: 'ToolOutputSubmitted', body: { ...about, status: 'succeeded', output: 2 } },
      { clientExecuted: true },
    ],
  ];

  // An object for each: a row of two would make of a third parameter the callback of jest.
  const rows = messages.map(([first, other, more = {}]) => ({ first, other, more }));
  it.each(rows)('is refused, and the same one is answered as before: %j', async ({ first, other, more }) => {
    const { commands, store } = world;
    await world.deliver(requestMessage('ToolCallRequested', { runId, calls: [{ ...call, ...more }] }));
    const callId = deriveCallId('default', runId, toolCallId);
    const openCalls = {
      of: async () => ({ calls: [{ callId, requestedBy: 'kafka' }], requesters: ['kafka'], grants: [] }),
    };
    const ports = { commands, store, openCalls, clock: systemClock, ids: createSystemIds() };
    const owner = { ...actor, principal: (await findCall(commands, 'default', callId))?.request.requestedBy ?? '' };
    const send = (request: Request) => dispatchRequest(ports, owner, request, 'same-id');
    expect(await send(first)).toBeUndefined();
    const head = await store.head();
    expect(await send(other)).toMatchObject({ code: 'idempotency-key-reused' });
    expect(await send(first)).toBeUndefined();
    // One whose signature is late is only recognised.
    expect(await dispatchRequest(withoutWrites(ports), owner, other, 'same-id')).toMatchObject({
      code: 'idempotency-key-reused',
    });
    expect(await dispatchRequest(withoutWrites(ports), owner, first, 'same-id')).toBeUndefined();
    expect(await store.head()).toBe(head);
  });

  it('is a mismatch where it requests the same call with other arguments', async () => {
    const send = (n: number) =>
      dispatchRequest(
        {
          ...world,
          openCalls: { of: async () => ({ calls: [], requesters: [], grants: [] }) },
          clock: systemClock,
          ids: createSystemIds(),
        },
        actor,
        { type: 'ToolCallRequested', body: { runId, calls: [{ ...call, arguments: { n } }] } },
        'same-id',
      );
    expect(await send(1)).toBeUndefined();
    expect(await send(2)).toMatchObject({ code: 'tool-call-mismatch' });
    expect(await send(1)).toBeUndefined();
  });
});
