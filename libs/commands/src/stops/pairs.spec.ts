import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { celEngine } from '@countersign/cel';
import { approvalIdOf, toolCallStream } from '@countersign/contracts';
import type { RequestToolCalls, RespondBody } from '@countersign/contracts';
import type { Grant } from '@countersign/domain';
import { createConditions } from '@countersign/policy';
import { createSystemIds } from '@countersign/runtime';
import * as api from '../commands.js';
import type { CommandPorts } from '../ports.js';
import { actor, agent, alice, codeOf, done, openPolicyWorld, step } from '../testing/policy-world.js';
import type { PolicyWorld } from '../testing/policy-world.js';

const policy = `
default: require
approvers: [{ id: alice, groups: [ops] }, { id: bob, groups: [managers] }]
rules:
  - id: reads
    match: { tools: [get_file] }
    then: allow
  - id: escalates
    match: { tools: [deploy] }
    then: { require: { quorum: { approve: 1, of: [ops] }, expiresIn: 5m, onTimeout: escalate, escalation: [{ to: [managers], expiresIn: 5m }] } }
`;
const minuteMs = 60_000;
const everything = { tenant: undefined, agentId: null, toolName: null };
const admin = actor('admin', 'admin');
const worker = actor('worker', 'resolver');
const { uuid } = createSystemIds();
const approve: RespondBody = { decision: { type: 'approve' } };

let world: PolicyWorld;
let ports: CommandPorts;
let grants: Grant[];
const withGrants = (): CommandPorts =>
  world.another({
    grants: {
      index: { live: () => grants, liveCount: () => grants.length },
      conditions: () => Promise.resolve(createConditions(celEngine)),
    },
    history: {
      ...{ pendingOf: () => 0, denialsInARow: () => [], pendingCalls: () => [], callsOfBatch: () => [] },
      factsOfRun: () => ({ calls: 0, denied: 0, startedAt: null }),
    },
  });
beforeEach(async () => {
  grants = [];
  world = await openPolicyWorld(policy);
  ports = withGrants();
});
afterEach(() => world.close());

async function stop(scope: { readonly toolName?: string } = {}): Promise<string> {
  const stopping = api.declareStop(ports, admin, { scope: { ...everything, ...scope }, reason: 'why' }, uuid());
  const running = { isDone: false };
  void stopping.finally(() => (running.isDone = true));
  while (!running.isDone) await world.clock.advanceAsync(100);
  return done(await stopping).stopId;
}
const lift = async (stopId: string): Promise<void> => {
  done(await api.liftStop(ports, admin, { stopId, reason: 'mended', callIds: [] }, uuid()));
};
const request = (body: RequestToolCalls) => api.requestToolCalls(ports, agent, body, uuid());
const requested = async (body: RequestToolCalls) => done(await request(body)).callIds;
const respond = (callId: string, body: RespondBody, by = alice) =>
  api.respond(ports, by, approvalIdOf(callId, 1), body, uuid());
const claim = (callId: string, by = ports) => api.claim(by, worker, callId, { resolverId: 'w' }, uuid());
const typesOf = async (callId: string) =>
  (await world.store.readStream(toolCallStream(callId))).map<string>(({ type }) => type);

describe('under a stop', () => {
  it('a standing grant covers no call, and loses no use; later it covers', async () => {
    const body = { toolName: 'pay', match: { any: true }, expiresInMs: 60 * minuteMs, reason: 'busy' } as const;
    grants = [done(await api.createGrant(ports, alice, { ...body, maxUses: 1 }, uuid()))];
    const stopId = await stop();
    expect(codeOf(await request(step('pay:1')))).toBe('stopped');
    const [grant] = grants;
    expect(await world.store.readStream(`grant-${grant?.terms.grantId ?? ''}`)).toHaveLength(1);
    await lift(stopId);
    const [callId = ''] = await requested(step('pay:1'));
    expect(await world.stateOf(callId)).toBe('allowed');
  });

  it('a bulk approval approves only what is not stopped, and a bulk denial denies all', async () => {
    const callIds = await requested(step('pay:1', 'refund:2'));
    const approvalIds = callIds.map((callId) => approvalIdOf(callId, 1));
    const stopId = await stop({ toolName: 'pay' });
    const bulk = (body: RespondBody, more: object = {}) =>
      api.respondInBulk(ports, alice, { approvalIds, ...body, ...more }, uuid());
    const stopped = { status: 'refused', refusal: { code: 'stopped' } };
    expect(done(await bulk(approve, { mode: 'all-or-nothing' }))).toMatchObject([stopped, { status: 'skipped' }]);
    expect(done(await bulk(approve, { dryRun: true }))).toMatchObject([stopped, { status: 'possible' }]);
    expect(done(await bulk(approve))).toMatchObject([stopped, { status: 'done' }]);
    expect(await Promise.all(callIds.map(world.stateOf))).toEqual(['awaiting_approval', 'approved']);
    const [first = ''] = approvalIds;
    const denial: RespondBody = { decision: { type: 'deny' }, reason: 'no' };
    const denied = await api.respondInBulk(ports, alice, { approvalIds: [first], ...denial }, uuid());
    expect(done(denied)).toMatchObject([{ status: 'done' }]);
    await lift(stopId);
  });

  it('of one member no other member of an all-or-nothing batch runs, and a denial breaks the batch', async () => {
    const batch = (id: string): RequestToolCalls => ({
      ...step(`get_file:${id}1`, `pay:${id}2`),
      ...{ runId: `run-${id}`, batchId: id, batchMode: 'all-or-nothing' },
    });
    const [kept, broken] = [await requested(batch('kept')), await requested(batch('broken'))];
    await respond(kept[1] ?? '', approve);
    const stopId = await stop({ toolName: 'pay' });
    expect([codeOf(await claim(kept[0] ?? '')), codeOf(await claim(kept[1] ?? ''))]).toEqual(['stopped', 'stopped']);
    expect(codeOf(await respond(broken[1] ?? '', { decision: { type: 'deny' }, reason: 'no' }))).toBe('done');
    expect(await world.stateOf(broken[0] ?? '')).toBe('cancelled');
    await lift(stopId);
    expect([codeOf(await claim(kept[0] ?? '')), codeOf(await claim(kept[1] ?? ''))]).toEqual(['done', 'done']);
  });

  it('nothing escalates and nobody is reminded; afterwards the escalation comes once', async () => {
    const [callId = ''] = await requested(step('deploy:1'));
    const stopId = await stop();
    await world.clock.advanceAsync(6 * minuteMs);
    expect(await api.fireDue(ports, 'default', callId)).toBeNull();
    expect(await typesOf(callId)).not.toContain('ApprovalEscalated');
    await lift(stopId);
    await api.fireDue(ports, 'default', callId);
    await api.fireDue(ports, 'default', callId);
    expect((await typesOf(callId)).filter((type) => type === 'ApprovalEscalated')).toHaveLength(1);
    expect(await world.stateOf(callId)).toBe('awaiting_approval');
  });

  it('no person edits or answers; afterwards both count', async () => {
    const [one = '', two = ''] = await requested(step('pay:1', 'pay:2'));
    const edit: RespondBody = { decision: { type: 'edit', arguments: { amount: 1 } } };
    const answer: RespondBody = { decision: { type: 'answer', output: 'paid by hand' } };
    const stopId = await stop();
    expect([codeOf(await respond(one, edit)), codeOf(await respond(two, answer))]).toEqual(['stopped', 'stopped']);
    await lift(stopId);
    expect([codeOf(await respond(one, edit)), codeOf(await respond(two, answer))]).toEqual(['done', 'done']);
    expect(done(await claim(one)).arguments).toEqual({ amount: 1 });
  });

  it('a changed policy lets nothing go on', async () => {
    const [callId = ''] = await requested(step('get_file:1'));
    const stopId = await stop();
    world.activate('default: allow');
    expect([codeOf(await request(step('pay:2'))), codeOf(await claim(callId))]).toEqual(['stopped', 'stopped']);
    await lift(stopId);
    expect([codeOf(await request(step('pay:2'))), codeOf(await claim(callId))]).toEqual(['done', 'done']);
  });

  it('a process that starts knows of it at once, and of its end', async () => {
    const [callId = ''] = await requested(step('get_file:1'));
    const stopId = await stop();
    expect(codeOf(await claim(callId, withGrants()))).toBe('stopped');
    await lift(stopId);
    expect(codeOf(await claim(callId, withGrants()))).toBe('done');
  });
});
