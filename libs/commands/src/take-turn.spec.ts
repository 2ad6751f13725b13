import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { celEngine } from '@countersign/cel';
import type { RequestedCall } from '@countersign/contracts';
import type { Grant, ToolCall } from '@countersign/domain';
import { createConditions } from '@countersign/policy';
import { createSystemIds } from '@countersign/runtime';
import * as api from './commands.js';
import type { CommandPorts } from './ports.js';
import { agent, alice, done, openPolicyWorld } from './testing/policy-world.js';
import type { PolicyWorld } from './testing/policy-world.js';

const asking = (more = '') => `rules: [{ id: ask, match: { tools: [ask_*] }, then: { require: { ${more} } } }]`;
const blocking = "rules: [{ id: never, match: { tools: ['*'] }, then: { block: 'not any more' } }]";
const twoOf = 'rules: [{ id: two, then: { require: { quorum: { approve: 2 }, fourEyes: false } } }]';
const { uuid } = createSystemIds();

let world: PolicyWorld;
let commands: CommandPorts;
let grants: Grant[];
beforeEach(async () => {
  world = await openPolicyWorld(`default: allow\n${asking()}`, celEngine);
  grants = [];
  commands = world.another({
    grants: {
      index: { live: () => grants, liveCount: () => grants.length },
      conditions: () => Promise.resolve(createConditions(celEngine)),
    },
  });
});
afterEach(() => world.close());

const found = async (callId: string): Promise<ToolCall> => {
  const call = await api.findCall(commands, 'default', callId);
  if (call === undefined) throw new Error('no call');
  return call;
};
const request = async (toolName: string, more: Partial<RequestedCall> = {}): Promise<string> => {
  const calls = [{ toolName, toolCallId: uuid(), arguments: { n: 1 }, ...more }];
  const body = { runId: 'run-1', batchMode: 'sequential' as const, calls };
  return done(await api.requestToolCalls(commands, agent, body, uuid())).callIds[0] ?? '';
};
const turn = (callId: string, round = 1) => api.takeTurn(commands, { tenant: 'default', callId, round });
/** The call after its turn under other rules than those of its request. */
const turned = async (callId: string, rules?: string): Promise<ToolCall> => {
  if (rules !== undefined) world.activate(rules);
  await turn(callId);
  return found(callId);
};

describe('the turn of a call, under the policy in force then', () => {
  it.each(['wipe', 'ask_a'])('blocks %s, which the policy forbids now', async (tool) => {
    const { permission, verdict } = await turned(await request(tool), blocking);
    expect(permission).toMatchObject({ status: 'blocked', reason: 'not any more' });
    expect(verdict).toMatchObject({ ruleId: 'never', policyVersion: world.policies.of('default').version });
  });

  it('asks about a call that was allowed, by the rule in force', async () => {
    const { approvals, verdict } = await turned(await request('wipe', { reason: 'because' }), twoOf);
    expect(verdict).toMatchObject({ outcome: 'require', ruleId: 'two' });
    expect(approvals).toMatchObject([
      { round: 1, reason: 'because', proposals: [{ requirements: [{ stages: [{ approve: 2 }] }] }] },
    ]);
  });

  it('asks as many people as each of the two policies does', async () => {
    const callId = await request('ask_a', { expiresInMs: 60_000, allowedDecisions: ['approve', 'deny'] });
    const { approvals, verdict } = await turned(callId, twoOf);
    expect(verdict?.ruleId).toBe('two');
    const required = { stages: [{ approve: 2 }], fourEyes: true, expiresInMs: 60_000 };
    expect(approvals).toMatchObject([
      { proposals: [{ requirements: [{ ...required, allowedDecisions: ['approve', 'deny'] }] }] },
    ]);
  });

  it('is as it was recorded where the policy in force is not stricter', async () => {
    const before = await found(await request('ask_a'));
    const after = await turned(before.request.callId, 'default: allow\nrules: []');
    expect([after.verdict, after.permission.status]).toEqual([before.verdict, 'awaiting_approval']);
    expect(after.approvals).toHaveLength(1);
    const allowed = await found(await request('wipe'));
    const same = await turned(allowed.request.callId, `default: allow\n${asking('risk: low')}`);
    expect([same.verdict, same.permission.status]).toEqual([allowed.verdict, 'allowed']);
  });

  it('keeps the end of the question where the policy in force asks nobody', async () => {
    world.activate(`default: allow\n${asking('expiresIn: 1h, onTimeout: hold')}`);
    const callId = await request('ask_a', { needsApproval: true });
    const { approvals } = await turned(callId, 'default: allow');
    expect(approvals).toMatchObject([{ proposals: [{ requirements: [{ onTimeout: 'hold' }] }] }]);
  });

  // As a projector whose policy file is not that of the gateways.
  it.each(['default: allow\nrules: []', `default: allow\n${asking('quorum: { approve: 1 }')}`, twoOf, blocking])(
    'permits nothing that the policy of the request did not, under %s',
    async (other) => {
      world.activate(`default: allow\n${asking('quorum: { approve: 3 }')}`);
      const { approvals, permission } = await turned(await request('ask_a'), other);
      expect(permission.status).toMatch(/^(?:awaiting_approval|blocked)$/);
      const stages = approvals.flatMap(({ proposals }) => proposals.flatMap(({ requirements }) => requirements));
      for (const requirement of stages) {
        expect(requirement.stages.some(({ approve }) => approve >= 3)).toBe(true);
        expect(requirement.onTimeout).toBe('deny');
      }
    },
  );

  it('sees the run as it was before the call', async () => {
    const counted: (string | undefined)[] = [];
    const factsOfRun = (_tenant: string, _runId: string, callId?: string) => {
      counted.push(callId);
      return { calls: callId === undefined ? 2 : 1, denied: 0, startedAt: null };
    };
    commands = world.another({ history: { factsOfRun } as never });
    const callId = await request('wipe');
    const counting = `default: allow\nrules: [{ id: many, when: 'run.calls >= 2', then: { block: 'too many' } }]`;
    expect((await turned(callId, counting)).permission.status).toBe('allowed');
    expect(counted).toEqual([callId]);
  });

  it('comes only once the policy can be read', async () => {
    const callId = await request('wipe');
    const held = { stream: 'policy-default', eventId: 'e', position: 1, revision: 1, type: 'x', why: 'unknown' };
    const forbidding = { policyOf: () => held, runOf: () => undefined, policyBackAt: () => undefined };
    commands = { ...commands, forbidding: forbidding as never };
    expect(await turn(callId)).toBeNull();
    expect(await world.stateOf(callId)).toBe('awaiting_approval');
  });
});

describe('the turn of a call that a grant covered', () => {
  const grant = { toolName: 'ask_a', match: { any: true }, expiresInMs: 60_000, reason: 'busy' } as const;
  const covered = async (): Promise<{ callId: string; grantId: string }> => {
    const given = done(await api.createGrant(commands, alice, grant, uuid()));
    grants = [given];
    const callId = await request('ask_a');
    expect((await found(callId)).verdict).toMatchObject({ outcome: 'allow', grantId: given.terms.grantId });
    return { callId, grantId: given.terms.grantId };
  };

  it('lets it run while the grant is in force', async () => {
    const { callId } = await covered();
    expect((await turned(callId)).permission.status).toBe('allowed');
  });

  it('asks people when the grant was revoked', async () => {
    const { callId, grantId } = await covered();
    done(await api.revokeGrant(commands, alice, { grantId, reason: 'enough' }, uuid()));
    const { verdict, approvals } = await turned(callId);
    expect(verdict).toMatchObject({ outcome: 'require', ruleId: 'ask' });
    expect(approvals).toHaveLength(1);
  });

  it('asks people when the grant has expired', async () => {
    const { callId } = await covered();
    await world.clock.advanceAsync(60_000);
    expect((await turned(callId)).approvals).toHaveLength(1);
  });

  it('asks people when the rule asks more of them than the grant stands for', async () => {
    const { callId } = await covered();
    expect((await turned(callId, twoOf)).verdict?.ruleId).toBe('two');
  });

  it('blocks what the policy forbids now, and asks where no grant is known', async () => {
    const { callId } = await covered();
    const other = await request('ask_a');
    commands = world.another();
    expect((await turned(other)).approvals).toHaveLength(1);
    expect((await turned(callId, blocking)).permission.status).toBe('blocked');
  });
});

it('gives no turn by a place that the call has left', async () => {
  const callId = await request('ask_a', { expiresInMs: 1_000 });
  await turn(callId);
  await world.clock.advanceAsync(1_000);
  await api.fireDue(commands, 'default', callId);
  done(await api.requestApproval(commands, agent, callId, {}, uuid()));
  expect(await turn(callId)).not.toBeNull();
  expect((await found(callId)).permission).toMatchObject({ queued: { question: { round: 2 } } });
  await turn(callId, 2);
  expect((await found(callId)).approvals.map(({ round }) => round)).toEqual([1, 2]);
});
