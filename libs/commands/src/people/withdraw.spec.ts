import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { approvalIdOf, deriveCallId } from '@countersign/contracts';
import * as api from '../commands.js';
import { actor, agent, codeOf, done, openPolicyWorld, step } from '../testing/policy-world.js';
import type { PolicyWorld } from '../testing/policy-world.js';

let world: PolicyWorld;
const callId = deriveCallId('default', 'run-1', 'a');
const approvalId = approvalIdOf(callId, 1);

beforeEach(async () => {
  world = await openPolicyWorld('rules: [{ id: two, then: { require: { quorum: { approve: 2, deny: 2 } } } }]');
  done(await api.requestToolCalls(world.commands, agent, step('pay:a'), 'request'));
});
afterEach(() => world.close());

const respond = (by: string, id: string) =>
  api.respond(world.commands, actor(by, 'approver'), approvalId, { decision: { type: 'approve' } }, id);

it('a repeat of a response that was withdrawn is refused, and one with another key counts', async () => {
  done(await respond('alice', 'key'));
  expect(codeOf(await respond('alice', 'key'))).toBe('done');
  done(await api.withdraw(world.commands, actor('alice', 'approver'), approvalId, 'withdraw'));
  expect(codeOf(await respond('alice', 'key'))).toBe('idempotency-key-reused');
  done(await respond('bob', 'other'));
  expect(await world.stateOf(callId)).toBe('awaiting_approval');
  done(await respond('alice', 'another key'));
  expect(await world.stateOf(callId)).toBe('approved');
  // The first response was withdrawn, and the person agrees after all.
  expect(codeOf(await respond('alice', 'key'))).toBe('done');
});
