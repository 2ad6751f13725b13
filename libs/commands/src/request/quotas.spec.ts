import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { celEngine } from '@countersign/cel';
import { approvalIdOf, deriveCallId, toolCallStream } from '@countersign/contracts';
import { currentApproval } from '@countersign/domain';
import { EventStoreUnavailableError } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import type { Actor } from '../actor.js';
import * as api from '../commands.js';
import type { History, PendingCall } from '../history.js';
import { agent, alice, codeOf, done, openPolicyWorld, step } from '../testing/policy-world.js';
import type { PolicyWorld } from '../testing/policy-world.js';
import type { CommandPorts } from '../ports.js';

const policyOf = (quotas: string): string => `
quotas: { ${quotas} }
rules:
  - { id: mail, match: { tools: [mail] }, then: { require: {} } }
`;

let world: PolicyWorld;
let commands: CommandPorts;
let requested: string[];
let last = 0;
const id = (): string => `command-${String(++last)}`;
const callId = (toolCallId: string): string => deriveCallId('default', 'run-1', toolCallId);

/** The history out of the streams themselves, as a read model that is never behind. It is looked at before each use. */
async function look(): Promise<History> {
  const calls = await Promise.all([...new Set(requested)].map((one) => api.findCall(commands, 'default', one)));
  const approvals = calls.flatMap((call) => (call === undefined ? [] : [{ call, approval: currentApproval(call) }]));
  const pending = approvals.flatMap(({ call, approval }): PendingCall[] =>
    approval?.resolution.status === 'pending' ? [{ ...call.request, approvalId: approval.approvalId }] : [],
  );
  const resolved = approvals
    .toReversed()
    .flatMap(({ approval }) => (approval === undefined ? [] : [approval.resolution]));
  const approved = resolved.findIndex(({ status }) => status === 'approved');
  const latest = (approved === -1 ? resolved : resolved.slice(0, approved)).flatMap((one) =>
    one.status === 'denied' ? [one.at] : [],
  );
  return {
    pendingOf: (_tenant, _agent, atMost) => Math.min(pending.length, atMost),
    denialsInARow: (_tenant, _agent, atMost) => latest.slice(0, atMost),
    pendingCalls: () => pending,
    callsOfBatch: () => [],
    factsOfRun: () => ({ calls: 0, denied: 0, startedAt: null }),
  };
}

async function open(quotas: string, reach = (store: EventStore): EventStore => store): Promise<void> {
  world = await openPolicyWorld(policyOf(quotas));
  let shown: History | undefined;
  const of = (): History => {
    if (shown === undefined) throw new Error('nothing was looked at');
    return shown;
  };
  const history: History = {
    pendingOf: (...given) => of().pendingOf(...given),
    denialsInARow: (...given) => of().denialsInARow(...given),
    pendingCalls: (...given) => of().pendingCalls(...given),
    factsOfRun: (...given) => of().factsOfRun(...given),
    callsOfBatch: () => [],
  };
  commands = world.another({ history, store: reach(world.store) });
  const { asking } = commands;
  if (asking === undefined) throw new Error('the history is given');
  const inTurn: typeof asking.inTurn = (key, work) =>
    asking.inTurn(key, async () => {
      shown = await look();
      return work();
    });
  commands = { ...commands, asking: { ...asking, inTurn } };
}

beforeEach(() => {
  requested = [];
});
afterEach(() => world.close());

async function request(...calls: readonly string[]) {
  const body = step(...calls);
  for (const call of body.calls) if (call.toolName === 'mail') call.arguments = { to: call.toolCallId };
  requested.push(...body.calls.map(({ toolCallId }) => callId(toolCallId)));
  return api.requestToolCalls(commands, agent, body, id());
}
const answer = async (toolCallId: string, type: 'approve' | 'deny') =>
  done(await api.respond(commands, alice, approvalIdOf(callId(toolCallId), 1), { decision: { type } }, id()));
const ask = (toolCallId: string) => api.requestApproval(commands, agent, callId(toolCallId), {}, id());

describe('pendingPerAgent', () => {
  beforeEach(() => open('pendingPerAgent: 2'));

  it('holds when many requests arrive at the same moment', async () => {
    const codes = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(async (one) => codeOf(await request(`mail:${one}`))));
    expect(codes.filter((code) => code === 'done')).toHaveLength(2);
  });

  it('holds when a call of the request before failed while another was still being recorded', async () => {
    await world.close();
    await open('pendingPerAgent: 2', (store) => ({
      ...store,
      append: async (stream, ...given) => {
        if (stream === toolCallStream(callId('a'))) throw new EventStoreUnavailableError('down');
        if (stream === toolCallStream(callId('b'))) await new Promise(setImmediate);
        return store.append(stream, ...given);
      },
    }));
    const [failed, next] = await Promise.allSettled([request('mail:a', 'mail:b'), request('mail:c', 'mail:d')]);
    expect(failed).toMatchObject({ status: 'rejected' });
    expect(next).toMatchObject({ value: { refusal: { code: 'too-many-requests' } } });
    expect(await world.stateOf(callId('b'))).toBe('awaiting_approval');
  });

  it('holds for a call that was allowed and about which the agent asks later', async () => {
    done(await request('mail:a', 'mail:b', 'read:c'));
    expect(codeOf(await ask('c'))).toBe('too-many-requests');
    expect(codeOf(await ask('a'))).toBe('already-pending');
    await answer('a', 'deny');
    expect(codeOf(await ask('c'))).toBe('done');
  });

  it('fails closed in a process that cannot count', async () => {
    expect(codeOf(await api.requestToolCalls(world.commands, agent, step('mail:a'), id()))).toBe('unavailable');
    expect(codeOf(await api.requestToolCalls(world.commands, agent, step('read:b'), id()))).toBe('done');
  });
});

describe('coalesceIdentical', () => {
  beforeEach(() => open('coalesceIdentical: true'));

  it('tells an admin who asks about the call of another nothing of hidden values', async () => {
    const admin: Actor = { ...alice, roles: new Set(['admin']) };
    for (const [one, args] of [
      ['open', { to: 'ann' }],
      ['secret', { pin: '4711' }],
    ] as const) {
      done(
        await api.requestToolCalls(
          commands,
          agent,
          { runId: 'run-1', calls: [{ toolName: 'read', toolCallId: `${one} read`, arguments: args }] },
          id(),
        ),
      );
      requested.push(callId(`${one} read`));
      done(await api.requestApproval(commands, agent, callId(`${one} read`), {}, id()));
      done(
        await api.requestToolCalls(
          commands,
          agent,
          { runId: 'run-1', calls: [{ toolName: 'read', toolCallId: one, arguments: args }] },
          id(),
        ),
      );
      requested.push(callId(one));
    }
    expect(codeOf(await api.requestApproval(commands, admin, callId('open'), {}, id()))).toBe('already-pending');
    expect(codeOf(await api.requestApproval(commands, admin, callId('secret'), {}, id()))).toBe('done');
  });
});

describe('an expression that counts the calls of the run', () => {
  it('counts those of the same step as well, and is told the facts only where it asks', async () => {
    world = await openPolicyWorld('', celEngine);
    world.activate('rules: [{ id: many, when: run.calls >= 2, then: { block: enough } }]');
    let reads = 0;
    const history = {
      ...({ pendingOf: () => 0, denialsInARow: () => [], pendingCalls: () => [], callsOfBatch: () => [] } as const),
      factsOfRun: () => ({ calls: reads++, denied: 0, startedAt: null }),
    };
    const by = world.another({ history });
    done(await api.requestToolCalls(by, agent, step('read:a', 'read:b', 'read:c'), id()));
    expect(await Promise.all(['a', 'b', 'c'].map((one) => world.stateOf(callId(one))))).toEqual([
      ...['allowed', 'allowed', 'blocked'],
    ]);
    world.activate('default: allow');
    done(await api.requestToolCalls(by, agent, step('read:d'), id()));
    expect(reads).toBe(1);
  });

  it('counts those of requests that come at the same moment, in every order', async () => {
    world = await openPolicyWorld('', celEngine);
    world.activate('rules: [{ id: many, when: run.calls >= 2, then: { block: enough } }]');
    const names = ['a', 'b', 'c', 'd'];
    const statesNow = () => Promise.all(names.map((one) => world.stateOf(callId(one))));
    let calls = 0;
    const history = {
      ...({ pendingOf: () => 0, denialsInARow: () => [], pendingCalls: () => [], callsOfBatch: () => [] } as const),
      factsOfRun: () => ({ calls, denied: 0, startedAt: null }),
    };
    const { asking, ...others } = world.another({ history });
    if (asking === undefined) throw new Error('the history is given');
    const inTurn: typeof asking.inTurn = (key, work) =>
      asking.inTurn(key, async () => {
        calls = (await statesNow()).filter((state) => state !== null).length;
        return work();
      });
    const by = { ...others, asking: { ...asking, inTurn } };
    const answers = names.map((one) => api.requestToolCalls(by, agent, step(`read:${one}`), id()));
    for (const answer of await Promise.all(answers)) done(answer);
    const states = await statesNow();
    expect(states.filter((state) => state === 'allowed')).toHaveLength(2);
  });
});
