import { approvalIdOf, currentSchemaVersion, policyStream } from '@countersign/contracts';
import type { UnreadableStream } from '@countersign/contracts';
import { createOwnStoreClock, createUnreadableWatch, noStream } from '@countersign/event-store';
import type { Forbidding } from '@countersign/event-store';
import { sampleEvent } from '@countersign/event-store/testing';
import { loadPolicy } from '@countersign/policy';
import { createSystemIds } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import * as api from './commands.js';
import { policyInForce, recordPolicy } from './policy-activation.js';
import type { CommandPorts } from './ports.js';
import { actor, agent, done, openPolicyWorld, step } from './testing/policy-world.js';
import type { PolicyWorld } from './testing/policy-world.js';
import { createWriteSide } from './write-side.js';

const policy = `
rules:
  - id: silent
    match: { tools: [pay] }
    then: { require: { onTimeout: allow, allowOnTimeout: i-understand, expiresIn: 5m } }
`;
const minuteMs = 60_000;
const { uuid } = createSystemIds();
const worker = actor('worker', 'resolver');

describe('a time limit of a process whose clocks had stood still for ten minutes', () => {
  let world: PolicyWorld;
  let late: CommandPorts;

  beforeEach(async () => {
    world = await openPolicyWorld(policy);
    const { store, clock } = world;
    await clock.advanceAsync(10 * minuteMs);
    const behind = createOwnStoreClock({ ...clock, now: () => clock.now() - 10 * minuteMs });
    late = world.another({ store: { ...store, clock: behind } });
  });
  afterEach(() => world.close());

  const request = async (call: string): Promise<string> => {
    const [callId = ''] = done(await api.requestToolCalls(late, agent, step(call), uuid())).callIds;
    return callId;
  };

  it('counts from the record of the question: silence approves after the whole time', async () => {
    const { commands, clock, stateOf } = world;
    const callId = await request('pay:1');
    expect(await api.fireDue(commands, 'default', callId)).toBeNull();
    await clock.advanceAsync(5 * minuteMs - 1);
    expect(await api.fireDue(commands, 'default', callId)).toBeNull();
    await clock.advanceAsync(1);
    expect(await api.fireDue(commands, 'default', callId)).toBeGreaterThan(0);
    expect(await stateOf(callId)).toBe('approved');
  });

  it('counts from the record of the claim: the call is claimable again after the whole lease', async () => {
    const { commands, clock, stateOf } = world;
    const body = step('get_file:1');
    const calls = body.calls.map((call) => ({ ...call, idempotent: true }));
    const [callId = ''] = done(await api.requestToolCalls(commands, agent, { ...body, calls }, uuid())).callIds;
    done(await api.claim(late, worker, callId, { resolverId: 'w', leaseMs: minuteMs }, uuid()));
    expect(await api.fireDue(commands, 'default', callId)).toBeNull();
    await clock.advanceAsync(minuteMs);
    expect(await api.fireDue(commands, 'default', callId)).toBeGreaterThan(0);
    expect(await stateOf(callId)).toBe('allowed');
  });
});

describe('the people at a deadline', () => {
  const withPeople = (...approvers: readonly string[]): NonNullable<CommandPorts['people']> => ({
    approver: (_, principal) => (approvers.includes(principal) ? { groups: ['ops'], isAway: false } : undefined),
    approvers: () => approvers,
    names: () => [],
  });
  let world: PolicyWorld;
  afterEach(() => world.close());

  const request = async (call: string): Promise<string> => {
    const [callId = ''] = done(await api.requestToolCalls(world.commands, agent, step(call), uuid())).callIds;
    return callId;
  };
  const fireAfter = async (people: CommandPorts['people'], callId: string): Promise<string | null> => {
    await world.clock.advanceAsync(5 * minuteMs);
    await api.fireDue({ ...world.commands, people }, 'default', callId);
    return world.stateOf(callId);
  };

  it('let silence approve while one of them could have objected, or none is known', async () => {
    world = await openPolicyWorld(policy);
    expect(await fireAfter(withPeople('alice'), await request('pay:1'))).toBe('approved');
    expect(await fireAfter(withPeople(), await request('pay:2'))).toBe('expired');
    expect(await fireAfter(undefined, await request('pay:3'))).toBe('approved');
  });

  it('let silence approve under the policy in force alone', async () => {
    world = await openPolicyWorld(policy);
    const { store } = world;
    const inForce = loadPolicy('p.yaml', `version: 1\n${policy}`, null);
    const other = loadPolicy('p.yaml', `version: 1\napprovers: [{ id: bob }]\n${policy}`, null);
    const commands: CommandPorts = {
      ...world.commands,
      people: withPeople('alice'),
      policyInForce: (tenant) => policyInForce(store, tenant),
    };
    const fired = async (call: string): Promise<string | null> => {
      const callId = await request(call);
      await world.clock.advanceAsync(5 * minuteMs);
      await api.fireDue(commands, 'default', callId);
      return world.stateOf(callId);
    };
    await recordPolicy(store, inForce, new Date(world.clock.now()).toISOString());
    expect(await fired('pay:1')).toBe('approved');
    await recordPolicy(store, other, new Date(world.clock.now()).toISOString());
    expect(await fired('pay:2')).toBe('expired');
    await recordPolicy(store, inForce, new Date(world.clock.now()).toISOString());
    expect(await fired('pay:3')).toBe('approved');
  });

  it('are not missed by a process that knows neither people nor a policy: the vote of a delegate stays', async () => {
    world = await openPolicyWorld(`
approvers:
  - { id: dan }
  - { id: bob, groups: [ops], delegates: [{ to: dan, from: 2020-01-01T00:00:00Z, until: 2100-01-01T00:00:00Z }] }
rules:
  - id: two
    then:
      require:
        quorum: { approve: 2, of: [ops] }
        expiresIn: 5m
        onTimeout: escalate
        escalation: [{ to: [managers], expiresIn: 5m }]
`);
    const callId = await request('pay:1');
    const [dan, approvalId] = [actor('dan', 'approver'), approvalIdOf(callId, 1)];
    done(await api.respond(world.commands, dan, approvalId, { decision: { type: 'approve' } }, uuid()));
    await world.clock.advanceAsync(5 * minuteMs);
    const nothing = createWriteSide({
      ...{ store: world.store, tools: world.commands.tools, ids: createSystemIds(), log: createSilentLog() },
    });
    expect(await api.fireDue(nothing, 'default', callId)).toBeGreaterThan(0);
    const call = await api.findCall(world.commands, 'default', callId);
    expect(call?.approvals[0]).toMatchObject({ escalations: [{ to: ['managers'] }], votes: [{ status: 'counted' }] });
  });
});

describe('an event that cannot be read', () => {
  const held = { stream: 's', eventId: 'e', revision: 0, position: 1, type: 'T', recordedAt: '', why: 'it is later' };
  const found: UnreadableStream = { ...held, tenant: 'default', callId: null, runId: null };
  const none: Forbidding = { policyOf: () => undefined, policyBackAt: () => undefined, runOf: () => undefined };
  const ofPolicy: Forbidding = { ...none, policyOf: () => found };
  const ofRun: Forbidding = { ...none, runOf: (_, runId) => (runId === 'run-1' ? found : undefined) };
  const ends = `${policy}
  - id: asked
    match: { tools: [mail] }
    then: { require: { expiresIn: 5m, reminders: [1m] } }
`;
  let world: PolicyWorld;
  beforeEach(async () => {
    world = await openPolicyWorld(ends);
  });
  afterEach(() => world.close());

  const request = async (call: string): Promise<string> =>
    done(await api.requestToolCalls(world.commands, agent, step(call), uuid())).callIds[0] ?? '';
  const fire = (forbidding: Forbidding, callId: string) =>
    api.fireDue({ ...world.commands, forbidding }, 'default', callId);

  it.each([
    ['a policy', ofPolicy],
    ['a cancellation of the run', ofRun],
  ])('in %s stops silence, expiry and reminders, which come once it is gone', async (_, forbidding) => {
    const [silent, asked] = [await request('pay:1'), await request('mail:2')];
    await world.clock.advanceAsync(minuteMs);
    expect(await fire(forbidding, asked)).toBeNull();
    await world.clock.advanceAsync(5 * minuteMs);
    expect([await fire(forbidding, silent), await fire(forbidding, asked)]).toEqual([null, null]);
    expect([await world.stateOf(silent), await world.stateOf(asked)]).toEqual(Array(2).fill('awaiting_approval'));
    while ((await fire(none, asked)) !== null);
    expect(await fire(none, silent)).toBeGreaterThan(0);
    expect([await world.stateOf(silent), await world.stateOf(asked)]).toEqual(['expired', 'expired']);
  });

  it('in a cancellation drops no approved call of the run; in a policy the right to run it lapses', async () => {
    const callId = await request('mail:1');
    const approved = { decision: { type: 'approve' } } as const;
    done(await api.respond(world.commands, actor('alice', 'approver'), approvalIdOf(callId, 1), approved, uuid()));
    await world.clock.advanceAsync(7 * 24 * 60 * minuteMs);
    expect(await fire(ofRun, callId)).toBeNull();
    expect(await world.stateOf(callId)).toBe('approved');
    expect(await fire(ofPolicy, callId)).toBeGreaterThan(0);
    expect(await world.stateOf(callId)).toBe('expired');
  });

  it('in a policy that was given up leaves no silence that approves: people could not object for a while', async () => {
    const silent = await request('pay:1');
    const unreadable = createUnreadableWatch(createSilentLog());
    const store = unreadable.over(world.store);
    const event = sampleEvent();
    const later = { ...event, metadata: { ...event.metadata, schemaVersion: currentSchemaVersion + 1 } };
    await world.store.append(policyStream('default'), noStream, [{ ...later, type: 'PolicyActivated' }]);
    await store.readStream(policyStream('default'));
    await world.clock.advanceAsync(5 * minuteMs);
    expect(await fire(unreadable, silent)).toBeNull();
    const content = loadPolicy('p.yaml', `version: 1\n${ends}`, null);
    await recordPolicy(store, content, '2030-01-01T00:00:00.000Z', { accepted: later.eventId });
    expect(await fire(unreadable, silent)).toBeGreaterThan(0);
    expect(await world.stateOf(silent)).toBe('expired');
    await world.clock.advanceAsync(1);
    const next = await request('pay:2');
    await world.clock.advanceAsync(5 * minuteMs);
    expect(await fire(unreadable, next)).toBeGreaterThan(0);
    expect(await world.stateOf(next)).toBe('approved');
  });
});

describe('a process that was started after the question', () => {
  it.each([1, 3, 5])('lets no silence approve: people could not respond for %d of its 5 minutes', async (away) => {
    const world = await openPolicyWorld(policy);
    const { clock, store, stateOf } = world;
    const [asked = ''] = done(await api.requestToolCalls(world.commands, agent, step('pay:1'), uuid())).callIds;
    await clock.advanceAsync(away * minuteMs);
    const restarted = world.another({ store: { ...store, clock: createOwnStoreClock(clock) } });
    const [later = ''] = done(await api.requestToolCalls(restarted, agent, step('pay:2'), uuid())).callIds;
    await clock.advanceAsync((5 - away) * minuteMs);
    expect(await api.fireDue(restarted, 'default', asked)).toBeGreaterThan(0);
    expect(await stateOf(asked)).toBe('expired');
    await clock.advanceAsync(away * minuteMs);
    expect(await api.fireDue(restarted, 'default', later)).toBeGreaterThan(0);
    expect(await stateOf(later)).toBe('approved');
    await world.close();
  });
});

describe('a clock that is set forward', () => {
  it('approves nothing by silence: people had less time than it says', async () => {
    const world = await openPolicyWorld(policy);
    const { clock, store, stateOf } = world;
    const own = world.another({ store: { ...store, clock: createOwnStoreClock(clock) } });
    const [asked = ''] = done(await api.requestToolCalls(own, agent, step('pay:1'), uuid())).callIds;
    clock.jump(5 * minuteMs);
    expect(await api.fireDue(own, 'default', asked)).toBeGreaterThan(0);
    expect(await stateOf(asked)).toBe('expired');
    const [later = ''] = done(await api.requestToolCalls(own, agent, step('pay:2'), uuid())).callIds;
    await clock.advanceAsync(5 * minuteMs);
    expect(await api.fireDue(own, 'default', later)).toBeGreaterThan(0);
    expect(await stateOf(later)).toBe('approved');
    await world.close();
  });
});
