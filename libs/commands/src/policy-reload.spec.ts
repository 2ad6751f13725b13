import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { approvalIdOf } from '@countersign/contracts';
import type { Decision, RequestToolCalls } from '@countersign/contracts';
import type { Grant } from '@countersign/domain';
import { EventStoreUnavailableError } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { createConditions } from '@countersign/policy';
import { celEngine } from '@countersign/cel';
import { createSystemIds } from '@countersign/runtime';
import * as api from './commands.js';
import type { CommandPorts } from './ports.js';
import { actor, agent, alice, codeOf, done, openPolicyWorld, step } from './testing/policy-world.js';
import type { PolicyWorld } from './testing/policy-world.js';

const asking = 'default: require\nrules: [{ id: free, match: { tools: [read] }, then: allow }]';
const blocking = "rules: [{ id: never, then: { block: 'not any more' } }]";
const twoOf = 'rules: [{ id: strict, then: { require: { quorum: { approve: 2 } } } }]';
const worker = actor('worker', 'resolver');
const { uuid } = createSystemIds();

let world: PolicyWorld;
let commands: CommandPorts;
let grants: Grant[];
beforeEach(async () => {
  world = await openPolicyWorld(asking, celEngine);
  grants = [];
  commands = overStore(world.store);
});
afterEach(() => world.close());

const overStore = (store: EventStore): CommandPorts =>
  world.another({
    store,
    grants: {
      index: { live: () => grants, liveCount: () => grants.length },
      conditions: () => Promise.resolve(createConditions(celEngine)),
    },
  });

const request = async (body: RequestToolCalls, by = commands) =>
  done(await api.requestToolCalls(by, agent, body, uuid())).callIds;
const one = async (call: string): Promise<string> => (await request(step(call)))[0] ?? '';
const respond = (callId: string, decision: Decision = { type: 'approve' }) =>
  api.respond(commands, alice, approvalIdOf(callId, 1), { decision }, uuid());
const claim = (callId: string) => api.claim(commands, worker, callId, { resolverId: 'w' }, uuid());

describe('rules that change to a block', () => {
  it('let people decide what they were asked before, under the verdict that it was asked by', async () => {
    const callId = await one('pay:1');
    const asked = (await api.findCall(commands, 'default', callId))?.approvals[0]?.verdict;
    world.activate(blocking);
    expect(codeOf(await respond(callId))).toBe('done');
    const call = await api.findCall(commands, 'default', callId);
    expect([call?.verdict, call?.permission.status]).toEqual([asked, 'approved']);
    expect(codeOf(await claim(callId))).toBe('done');
  });

  it('let a call be claimed that was approved or allowed before', async () => {
    const [approved, allowed] = [await one('pay:1'), await one('read:2')];
    done(await respond(approved));
    world.activate(blocking);
    expect([codeOf(await claim(approved)), codeOf(await claim(allowed))]).toEqual(['done', 'done']);
  });

  it('refuse an edit of what was asked before, and block the next round and every new call', async () => {
    const callId = await one('pay:1');
    world.activate(blocking);
    expect(codeOf(await respond(callId, { type: 'edit', arguments: { amount: 1 } }))).toBe('blocked-by-policy');
    await world.clock.advanceAsync(60 * 60_000);
    await api.fireDue(commands, 'default', callId);
    expect(codeOf(await api.requestApproval(commands, agent, callId, {}, uuid()))).toBe('blocked-by-policy');
    expect(await world.stateOf(callId)).toBe('blocked');
    expect(await world.stateOf(await one('pay:2'))).toBe('blocked');
  });

  it('block an allowed call about which the agent asks more', async () => {
    const callId = await one('read:1');
    world.activate(blocking);
    const [call] = step('read:1').calls;
    await request({ runId: 'run-1', calls: [{ ...call!, needsApproval: true }] });
    expect(await world.stateOf(callId)).toBe('blocked');
    expect(codeOf(await claim(callId))).toBe('not-approved');
  });

  it('let a call run that a grant has covered, and let the grant cover no other', async () => {
    const grant = { toolName: 'pay', match: { any: true }, expiresInMs: 60_000, reason: 'busy' } as const;
    grants = [done(await api.createGrant(commands, alice, grant, uuid()))];
    const covered = await one('pay:1');
    expect(await world.stateOf(covered)).toBe('allowed');
    world.activate(blocking);
    expect(codeOf(await claim(covered))).toBe('done');
    expect(await world.stateOf(await one('pay:2'))).toBe('blocked');
  });

  it('that come in force while the use of a grant is recorded judge the call', async () => {
    const grant = { toolName: 'pay', match: { any: true }, expiresInMs: 60_000, reason: 'busy' } as const;
    grants = [done(await api.createGrant(commands, alice, grant, uuid()))];
    const slow = overStore({
      ...world.store,
      append: (stream, revision, events) => {
        if (events[0]?.type === 'GrantUsed') world.activate(blocking);
        return world.store.append(stream, revision, events);
      },
    });
    const [callId = ''] = await request(step('pay:1'), slow);
    expect(await world.stateOf(callId)).toBe('blocked');
  });

  it('let an all-or-nothing batch run that was recorded before', async () => {
    const [a = '', b = ''] = await request({ ...step('pay:1', 'read:2'), batchMode: 'all-or-nothing' });
    world.activate(blocking);
    done(await respond(a));
    expect([codeOf(await claim(b)), codeOf(await claim(a))]).toEqual(['done', 'done']);
  });

  it('end an all-or-nothing batch of which a part was recorded before', async () => {
    let first: ReturnType<EventStore['append']> | undefined;
    const crashing = overStore({
      ...world.store,
      append: async (...append) => {
        if (first === undefined) return (first = world.store.append(...append));
        await first;
        throw new EventStoreUnavailableError('crashed');
      },
    });
    const body = { ...step('pay:1', 'read:2'), batchMode: 'all-or-nothing' } as const;
    await expect(request(body, crashing)).rejects.toThrow('crashed');
    world.activate(blocking);
    const states = await Promise.all((await request(body)).map((callId) => world.stateOf(callId)));
    expect(states.toSorted()).toEqual(['blocked', 'cancelled']);
  });
});

describe('rules that become stricter', () => {
  it('ask one person about what was asked before, and two about an edit of it', async () => {
    const [plain, edited] = [await one('pay:1'), await one('pay:2')];
    world.activate(twoOf);
    done(await respond(plain));
    done(await respond(edited, { type: 'edit', arguments: { amount: 1 } }));
    expect([await world.stateOf(plain), await world.stateOf(edited)]).toEqual(['approved', 'awaiting_approval']);
  });
});
