import { createOwnStoreClock } from '@countersign/event-store';
import { createSystemIds } from '@countersign/runtime';
import * as api from './commands.js';
import type { CommandPorts } from './ports.js';
import { actor, agent, done, openPolicyWorld, step } from './testing/policy-world.js';
import type { PolicyWorld } from './testing/policy-world.js';

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
