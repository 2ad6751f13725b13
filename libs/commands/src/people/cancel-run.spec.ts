import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { deriveCallId } from '@countersign/contracts';
import * as api from '../commands.js';
import { agent, done, openPolicyWorld, step } from '../testing/policy-world.js';
import type { PolicyWorld } from '../testing/policy-world.js';

const dayMs = 24 * 60 * 60 * 1000;
let world: PolicyWorld;
beforeEach(async () => {
  world = await openPolicyWorld('rules: []');
});
afterEach(() => world.close());

const callId = (toolCallId: string): string => deriveCallId('default', 'run-1', toolCallId);
const states = (...calls: readonly string[]) => Promise.all(calls.map((one) => world.stateOf(callId(one))));

/** Cancels a run in which these calls were requested. */
async function cancel(calls: readonly string[], more: object = {}) {
  const { commands, store, clock } = world;
  const open = await Promise.all(calls.map(async (one) => ((await states(one))[0] === 'allowed' ? [one] : [])));
  const ofRun = {
    calls: open.flat().map((one) => ({ callId: callId(one), requestedBy: agent.principal })),
    requesters: [agent.principal],
    grants: [],
  };
  const ports = { commands, store, clock, ids: commands.ids, openCalls: { of: async () => ofRun } };
  const run = { runId: 'run-1', reason: 'enough', repeatedForMs: dayMs, ...more };
  const outcome = await api.cancelRun(ports, agent, run, 'one-key');
  return 'refusal' in outcome ? outcome.refusal.code : outcome.calls.map((one) => one.callId);
}

const request = async (toolCallId: string) =>
  done(await api.requestToolCalls(world.commands, agent, step(`read:${toolCallId}`), `request-${toolCallId}`));

it('cancels the same calls when it is repeated, and is refused a day later, where it would leave one open', async () => {
  await request('a');
  expect(await cancel(['a'])).toEqual([callId('a')]);
  await world.clock.advanceAsync(dayMs - 1);
  await request('b');
  expect(await cancel(['a', 'b'])).toEqual([callId('a')]);
  await world.clock.advanceAsync(1);
  expect(await cancel(['a', 'b'])).toBe('idempotency-key-reused');
  expect(await states('a', 'b')).toEqual(['cancelled', 'allowed']);
  done(await api.cancelToolCall(world.commands, agent, callId('b'), 'enough', 'another-key'));
  expect(await cancel(['a', 'b'])).toEqual([callId('a')]);
});

it('is refused under the key of the cancellation of another run, and of one for another reason', async () => {
  await request('a');
  await cancel(['a']);
  expect(await cancel(['a'], { runId: 'run-2' })).toBe('idempotency-key-reused');
  expect(await cancel(['a'], { reason: 'something else' })).toBe('idempotency-key-reused');
});
