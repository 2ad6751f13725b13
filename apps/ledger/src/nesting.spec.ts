import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { respond } from '@countersign/commands';
import { approvalIdOf, deriveCallId } from '@countersign/contracts';
import type { RespondBody } from '@countersign/contracts';
import { approver, callOf, openLedgerWorld, requestMessage } from './testing/ledger-world.js';
import type { LedgerWorld } from './testing/ledger-world.js';

const idOf = (toolCallId: string, runId = 'run-1', tenant = 'default') => deriveCallId(tenant, runId, toolCallId);
const inside = (parentCallId: string) => ({ runId: 'inner', calls: [callOf('child', { parentCallId })] });

describe('nested calls of the ledger', () => {
  let world: LedgerWorld;
  beforeEach(async () => {
    world = await openLedgerWorld();
  });
  afterEach(() => world.close());
  const send = (type: string, data: object) => world.deliver(requestMessage(type, data));
  const request = (data: object) => send('ToolCallRequested', data);
  const answer = (callId: string, decision: RespondBody['decision']) =>
    respond(world.commands, approver, approvalIdOf(callId, 1), { decision }, `late-${decision.type}`);

  it('have the recorded chain of the calls around them', async () => {
    await request({ runId: 'run-1', onBehalfOf: 'dave', calls: [callOf('parent')] });
    await request(inside(idOf('parent')));
    const recorded = (await world.events()).filter(({ type }) => type === 'ToolCallRequested');
    expect(recorded.at(-1)?.data).toMatchObject({
      runId: 'inner',
      chain: [{ callId: idOf('parent'), runId: 'run-1', requestedBy: 'kafka', onBehalfOf: 'dave' }],
    });
  });

  it.each([
    ['is not recorded', idOf('nothing')],
    ['is the call itself', idOf('child', 'inner')],
    ["is another tenant's", idOf('parent', 'run-1', 'other')],
  ])('are refused and not recorded when the parent %s', async (_, parentCallId) => {
    expect(await request(inside(parentCallId))).toMatchObject({ outcome: 'handled' });
    expect(await world.state('child', 'inner')).toBeNull();
    expect(await world.refusals()).toMatchObject([
      { code: 'invalid-request', detail: expect.stringContaining('calls.0.parentCallId'), toolCallIds: ['child'] },
    ]);
  });

  it('are refused inside a cancelled call, and no late answer revives one that was cancelled', async () => {
    await request({ runId: 'run-1', calls: [callOf('parent')] });
    await request(inside(idOf('parent')));
    for (const runId of ['run-1', 'inner']) await send('ToolCallCancelled', { runId, reason: 'stop' });
    await request({ runId: 'inner', calls: [callOf('late', { parentCallId: idOf('parent') })] });
    expect(await world.refusals()).toMatchObject([{ code: 'already-settled', toolCallIds: ['late'] }]);
    const decisions = [
      { type: 'approve' },
      { type: 'deny' },
      { type: 'answer', output: 1 },
      { type: 'edit', arguments: { path: '/x' } },
    ] as const;
    for (const callId of [idOf('parent'), idOf('child', 'inner')]) {
      for (const decision of decisions) {
        expect(await answer(callId, decision)).toMatchObject({ refusal: { code: 'already-resolved' } });
      }
    }
    expect(await world.state('child', 'inner')).toBe('cancelled');
    expect((await world.types()).filter((type) => type === 'ApprovalResponded')).toEqual([]);
  });
});
