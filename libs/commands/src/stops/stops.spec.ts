import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { approvalIdOf, stopStream } from '@countersign/contracts';
import type { RequestedCall } from '@countersign/contracts';
import { EventStoreUnavailableError } from '@countersign/event-store';
import { createSystemIds } from '@countersign/runtime';
import type { Actor } from '../actor.js';
import * as api from '../commands.js';
import type { CommandPorts } from '../ports.js';
import { actor, agent, alice, codeOf, done, openPolicyWorld } from '../testing/policy-world.js';
import type { PolicyWorld } from '../testing/policy-world.js';

const policy = `
default: allow
rules:
  - id: people
    match: { tools: [delete_file, next_step] }
    then: { require: { expiresIn: 10m } }
  - id: silence
    match: { tools: [send_note] }
    then: { require: { onTimeout: allow, allowOnTimeout: i-understand, expiresIn: 10m } }
`;

const admin = actor('admin', 'admin');
const worker = actor('worker', 'resolver');
const commandId = createSystemIds().uuid;

let world: PolicyWorld;
let one: CommandPorts;
let other: CommandPorts;
let mayRead: boolean;
let readsAfter: Promise<null> | undefined;

beforeEach(async () => {
  world = await openPolicyWorld(policy);
  one = world.commands;
  mayRead = true;
  readsAfter = undefined;
  const { store } = world;
  // Another process, which may lose the stream of the stops.
  other = world.another({
    store: {
      ...store,
      readStream: async (stream, from) => {
        if (!mayRead && stream === stopStream('default')) throw new EventStoreUnavailableError('partitioned');
        const found = await store.readStream(stream, from);
        await readsAfter;
        return found;
      },
    },
  });
});
afterEach(() => world.close());

function request(ports: CommandPorts, call: Partial<RequestedCall> = {}, runId = 'run-1', by = agent) {
  const calls = [{ toolCallId: 'call_1', toolName: 'get_file', arguments: {}, ...call }];
  const batchMode = call.toolName === 'next_step' ? ({ batchMode: 'sequential' } as const) : {};
  return api.requestToolCalls(ports, by, { runId, ...batchMode, calls }, commandId());
}

async function requested(call: Partial<RequestedCall> = {}, runId?: string, by?: Actor): Promise<string> {
  const [callId = ''] = done(await request(one, call, runId, by)).callIds;
  return callId;
}

async function stop(scope: { tenant?: string; agentId?: string; toolName?: string } = {}): Promise<string> {
  const { tenant, agentId = null, toolName = null } = scope;
  const stopping = api.declareStop(one, admin, { scope: { tenant, agentId, toolName }, reason: 'why' }, commandId());
  const running = { isDone: false };
  void stopping.finally(() => (running.isDone = true));
  while (!running.isDone) await world.clock.advanceAsync(100);
  return done(await stopping).stopId;
}

const lift = (stopId: string) => api.liftStop(one, admin, { stopId, reason: 'mended', callIds: [] }, commandId());
const claim = (ports: CommandPorts, callId: string, id = commandId()) =>
  api.claim(ports, worker, callId, { resolverId: 'w', leaseMs: 60_000 }, id);
const respond = (ports: CommandPorts, callId: string, type: 'approve' | 'deny') =>
  api.respond(ports, alice, approvalIdOf(callId, 1), { decision: { type }, reason: 'r' }, commandId());

const stateOf = (callId: string) => world.stateOf(callId);

describe('a stop of everything', () => {
  it.each(['the same process', 'another process'] as const)('is known to %s when it is acknowledged', async (which) => {
    const ports = which === 'the same process' ? one : other;
    const allowed = await requested();
    const asked = await requested({ toolCallId: 'b', toolName: 'delete_file' });
    // It has just looked, and knows of none.
    expect(codeOf(await request(ports, { toolCallId: 'c' }))).toBe('done');
    const stopId = await stop();
    const refused = [
      await request(ports, { toolCallId: 'd' }),
      await claim(ports, allowed),
      await respond(ports, asked, 'approve'),
      await api.requestApproval(ports, agent, allowed, {}, commandId()),
    ];
    expect(refused.map(codeOf)).toEqual(['stopped', 'stopped', 'stopped', 'stopped']);
    expect(refused[1]).toMatchObject({ refusal: { extra: { stop: { stopId, reason: 'why', declaredBy: 'admin' } } } });
    expect(codeOf(await lift(stopId))).toBe('done');
    await world.clock.advanceAsync(1000);
    expect([await claim(ports, allowed), await respond(ports, asked, 'approve')].map(codeOf)).toEqual(['done', 'done']);
  });

  it('lets people deny and cancel, and returns the calls that are recorded already', async () => {
    const asked = await requested({ toolName: 'delete_file' });
    const second = await requested({ toolCallId: 'b' });
    await stop();
    expect(codeOf(await request(one, { toolName: 'delete_file' }))).toBe('done');
    expect(codeOf(await respond(one, asked, 'deny'))).toBe('done');
    expect(codeOf(await api.cancelToolCall(one, agent, second, 'no', commandId()))).toBe('done');
    expect([await stateOf(asked), await stateOf(second)]).toEqual(['denied', 'cancelled']);
  });

  it('does not renew the lease of a call that runs, and records its outcome', async () => {
    const callId = await requested();
    const { attempt } = done(await claim(one, callId));
    await stop();
    const renewal = await api.renewClaim(one, worker, callId, { attempt, leaseMs: 60_000 }, commandId());
    expect(codeOf(renewal)).toBe('stopped');
    const report = { attempt, status: 'succeeded', output: 'done' } as const;
    expect(codeOf(await api.reportExecution(one, worker, callId, report, commandId()))).toBe('done');
  });

  it('refuses a repeat of a claim whose answer was lost', async () => {
    const callId = await requested();
    expect(codeOf(await claim(one, callId, 'claim-1'))).toBe('done');
    await stop();
    expect(codeOf(await claim(one, callId, 'claim-1'))).toBe('stopped');
  });

  it('holds back what time would decide, and silence does not approve after it', async () => {
    const silent = await requested({ toolName: 'send_note' });
    const asked = await requested({ toolCallId: 'b', toolName: 'delete_file' });
    const stopId = await stop();
    await world.clock.advanceAsync(10 * 60_000);
    expect([await api.fireDue(one, 'default', silent), await api.fireDue(one, 'default', asked)]).toEqual([null, null]);
    expect([await stateOf(silent), await stateOf(asked)]).toEqual(['awaiting_approval', 'awaiting_approval']);
    await lift(stopId);
    await api.fireDue(one, 'default', silent);
    expect(await stateOf(silent)).toBe('expired');
  });

  it('gives no sequential call its turn', async () => {
    const callId = await requested({ toolName: 'next_step' });
    const stopId = await stop();
    expect(await api.takeTurn(one, { tenant: 'default', callId, round: 1 })).toBeNull();
    await lift(stopId);
    expect(await api.takeTurn(one, { tenant: 'default', callId, round: 1 })).not.toBeNull();
  });
});

describe('a process that cannot read the stops', () => {
  it('grants nothing from a second after it could read them last', async () => {
    const callId = await requested();
    expect(codeOf(await request(other, { toolCallId: 'b' }))).toBe('done');
    mayRead = false;
    await stop();
    await expect(claim(other, callId)).rejects.toThrow(EventStoreUnavailableError);
    await expect(request(other, { toolCallId: 'c' })).rejects.toThrow(EventStoreUnavailableError);
  });

  it('does not take the answer to an earlier read, which began before the stop', async () => {
    const late = Promise.withResolvers<null>();
    readsAfter = late.promise;
    const early = other.stops.fresh('default');
    await world.clock.advanceAsync(1);
    readsAfter = undefined;
    const stopId = await stop();
    const found = other.stops.fresh('default');
    late.resolve(null);
    expect(await early).toEqual([]);
    expect(await found).toMatchObject([{ stopId }]);
    expect(await other.stops.fresh('default')).toMatchObject([{ stopId }]);
  });

  it('still records a denial', async () => {
    const asked = await requested({ toolName: 'delete_file' });
    mayRead = false;
    expect(codeOf(await respond(other, asked, 'deny'))).toBe('done');
  });
});

describe('a file in the data folder', () => {
  it('stops every call of its process until it is gone, and silence does not approve after it', async () => {
    const file: { reason?: string } = {};
    const process = world.another({ stopFile: () => file.reason });
    const allowed = await requested();
    const silent = await requested({ toolCallId: 'b', toolName: 'send_note' });
    file.reason = 'nothing else answers';
    const refused = await claim(process, allowed);
    expect(refused).toMatchObject({ refusal: { code: 'stopped', detail: expect.stringContaining('the file STOP') } });
    expect(codeOf(await request(process, { toolCallId: 'c' }))).toBe('stopped');
    expect(await api.fireDue(process, 'default', silent)).toBeNull();
    delete file.reason;
    expect(codeOf(await claim(process, allowed))).toBe('done');
    await world.clock.advanceAsync(10 * 60_000);
    await api.fireDue(process, 'default', silent);
    expect(await stateOf(silent)).toBe('expired');
  });
});

describe('the scope of a stop', () => {
  it('is a part of the calls', async () => {
    const allowed = await requested();
    await stop({ toolName: 'delete_*' });
    expect(codeOf(await claim(one, allowed))).toBe('done');
    expect(codeOf(await request(one, { toolCallId: 'b', toolName: 'delete_file' }))).toBe('stopped');
  });

  it('of the operator is every tenant, or the one that it names; another tenant stops itself alone', async () => {
    const elsewhere = { ...agent, tenant: 'acme' };
    const stopId = await stop();
    expect(codeOf(await request(one, {}, 'run-2', elsewhere))).toBe('stopped');
    await lift(stopId);
    await stop({ tenant: 'acme' });
    expect(codeOf(await request(one, {}, 'run-2', elsewhere))).toBe('stopped');
    expect(codeOf(await request(one))).toBe('done');
    const scope = { tenant: 'default', agentId: null, toolName: null };
    const foreign = { ...admin, tenant: 'acme' };
    expect(codeOf(await api.declareStop(one, foreign, { scope, reason: 'why' }, commandId()))).toBe('forbidden');
    expect(codeOf(await api.liftStop(one, foreign, { stopId, reason: 'r', callIds: [] }, commandId()))).toBe(
      'not-found',
    );
  });
});

it('a stop, or its lift, under the idempotency key of another one is refused', async () => {
  const advanced = async <Value>(doing: Promise<Value>): Promise<Value> => {
    const running = { isDone: false };
    void doing.finally(() => (running.isDone = true));
    while (!running.isDone) await world.clock.advanceAsync(100);
    return doing;
  };
  const declare = (toolName: string | null, reason: string) =>
    advanced(api.declareStop(one, admin, { scope: { agentId: null, toolName }, reason }, 'stop-key'));
  const lift = (stopId: string, reason: string) =>
    advanced(api.liftStop(one, admin, { stopId, reason, callIds: [] }, 'lift-key'));
  const { stopId } = done(await declare('pay', 'a'));
  expect([codeOf(await declare(null, 'a')), codeOf(await declare('pay', 'b'))]).toEqual(
    Array(2).fill('idempotency-key-reused'),
  );
  expect(done(await declare('pay', 'a')).stopId).toBe(stopId);
  done(await lift(stopId, 'over'));
  expect(codeOf(await lift(stopId, 'a mistake'))).toBe('idempotency-key-reused');
  done(await lift(stopId, 'over'));
});
