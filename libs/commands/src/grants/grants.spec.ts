import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readable } from '@countersign/event-store/testing';
import { celEngine } from '@countersign/cel';
import type { CreateGrantBody, NewEvent, RecordedEvent } from '@countersign/contracts';
import { argumentsDigest, deriveCallId, grantLimits } from '@countersign/contracts';
import type { Grant } from '@countersign/domain';
import { openEmbeddedEventStore } from '@countersign/event-store';
import type { EmbeddedEventStore, EventStore } from '@countersign/event-store';
import { createConditions, createLivePolicies, loadPolicy } from '@countersign/policy';
import type { LivePolicies } from '@countersign/policy';
import { createSystemIds } from '@countersign/runtime';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import type { Actor, Role } from '../actor.js';
import { confirmGrant, createGrant, requestToolCalls, revokeGrant } from '../commands.js';
import type { CommandPorts } from '../ports.js';
import { createWriteSide } from '../write-side.js';
import type { WriteSidePorts } from '../write-side.js';

const actor = (principal: string, ...roles: Role[]): Actor => ({
  ...{ tenant: 'default', principal, roles: new Set(roles), groups: [], agentIds: ['*'] },
  ...{ via: 'api', assurance: 'medium' },
});
const [alice, bob, agent] = [actor('alice', 'approver'), actor('bob', 'approver'), actor('agent', 'agent')];
const hourMs = 3_600_000;

let folder: string;
let store: EmbeddedEventStore;
let clock: ReturnType<typeof createVirtualClock>;
let policies: LivePolicies;
/** The index of every process: what was created, as it was then. A real one may lag as much. */
let index: Grant[];
let appended: string[];
let last = 0;

const policyOf = (rules: string) =>
  loadPolicy(
    'countersign.policy.yaml',
    `version: 1\ndefault: require\napprovers: [{ id: alice, groups: [ops] }, { id: bob, groups: [ops] }]\nrules:\n${rules}`,
    celEngine,
  );
const rule = (risk: string) => `  - { id: pay, match: { tools: [pay] }, then: { require: { risk: ${risk} } } }`;

const processOver = (over: EventStore, options: Partial<WriteSidePorts> = {}): CommandPorts =>
  createWriteSide({
    store: over,
    policies,
    grants: {
      index: {
        live: (_, toolName) => index.filter(({ terms }) => terms.toolName === toolName),
        liveCount: () => index.length,
      },
      conditions: () => Promise.resolve(createConditions(celEngine)),
    },
    tools: { find: () => undefined },
    ...{ ids: createSystemIds(), log: createSilentLog() },
    ...options,
  });

/** The store of a process in which something happens just before it appends events of a type. */
function before(type: NewEvent['type'], act: () => Promise<unknown>): EventStore {
  let acted: Promise<unknown> | undefined;
  return {
    ...store,
    append: async (stream, revision, events) => {
      if (events.some((event) => event.type === type)) await (acted ??= act());
      return store.append(stream, revision, events);
    },
  };
}

async function granted(ports: CommandPorts, change: Partial<CreateGrantBody> = {}): Promise<Grant> {
  last += 1;
  const body = { toolName: 'pay', match: { any: true }, expiresInMs: hourMs, reason: 'busy', ...change } as const;
  const created = await createGrant(ports, alice, body, `grant-${String(last)}`);
  if (created.status === 'refused') throw new Error(created.refusal.detail);
  index = [...index, created.value];
  return created.value;
}

/** Requests one call and returns how it was judged. */
async function request(ports: CommandPorts, toolCallId: string, args = {}, commandId = toolCallId): Promise<string> {
  const calls = [{ toolCallId, toolName: 'pay', arguments: args }];
  await requestToolCalls(ports, agent, { runId: 'run', calls }, commandId);
  return typesOf(toolCallId);
}
async function typesOf(toolCallId: string): Promise<string> {
  const events = await store.readStream(`toolCall-${deriveCallId('default', 'run', toolCallId)}`);
  return events.map(({ type }) => type).join();
}
const allowed = 'ToolCallRequested,ToolCallAllowed';
const asked = 'ToolCallRequested,ApprovalRequested';
const grantEvents = async ({ terms: { grantId } }: Grant): Promise<readonly RecordedEvent['type'][]> =>
  readable(await store.readStream(`grant-${grantId}`)).map(({ type }) => type);

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-grants-'));
  clock = createVirtualClock();
  store = await openEmbeddedEventStore({ folder, clock, log: createSilentLog() });
  policies = createLivePolicies(policyOf(rule('low')));
  index = [];
  appended = [];
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

describe('a grant in two processes', () => {
  it('is revoked while another process takes a use: the call is judged without it', async () => {
    const other = processOver(store);
    const grant = await granted(other);
    const revoking = before('GrantUsed', () => revokeGrant(other, bob, { grantId: grant.terms.grantId }, 'revoke'));
    expect(await request(processOver(revoking), 'a')).toBe(asked);
    expect(await grantEvents(grant)).toEqual(['GrantCreated', 'GrantRevoked']);
  });

  it('has one use left: one of two calls gets it', async () => {
    const other = processOver(store);
    const grant = await granted(other, { maxUses: 1 });
    const racing = before('GrantUsed', () => request(other, 'b'));
    expect(await request(processOver(racing), 'a')).toBe(asked);
    expect(await request(other, 'b')).toBe(allowed);
    expect(await grantEvents(grant)).toEqual(['GrantCreated', 'GrantUsed']);
  });

  it('has a use less than it seemed: the call of a request that has its use keeps it, and people are asked about the other', async () => {
    const other = processOver(store);
    const grant = await granted(other, { maxUses: 2 });
    expect(await request(other, 'c')).toBe(allowed);
    const calls = ['a', 'b'].map((toolCallId) => ({ toolCallId, toolName: 'pay', arguments: {} }));
    await requestToolCalls(other, agent, { runId: 'run', calls }, 'both');
    expect([await typesOf('a'), await typesOf('b')]).toEqual([allowed, asked]);
    expect(await grantEvents(grant)).toEqual(['GrantCreated', 'GrantUsed', 'GrantUsed']);
  });

  it('is used before it is revoked: the call stays allowed, and the revocation is recorded', async () => {
    const ports = processOver(store);
    const grant = await granted(ports);
    expect(await request(ports, 'a')).toBe(allowed);
    expect((await revokeGrant(ports, bob, { grantId: grant.terms.grantId }, 'revoke')).status).toBe('done');
    expect(await request(ports, 'b')).toBe(asked);
  });

  it.each(['confirm first', 'revoke first'])(
    'is confirmed and revoked at once: %s, and it covers nothing',
    async (order) => {
      policies.activate(policyOf(rule('high')));
      const ports = processOver(store);
      const grant = await granted(ports);
      expect(grant.status).toBe('pending');
      const { grantId } = grant.terms;
      const both = [
        () => confirmGrant(processOver(store), bob, grantId, 'confirm'),
        () => revokeGrant(processOver(store), alice, { grantId }, 'revoke'),
      ];
      const results = [];
      for (const one of order === 'confirm first' ? both : both.toReversed()) results.push(await one());
      const refused = results.flatMap((one) => (one.status === 'refused' ? [one.refusal.code] : []));
      expect(refused).toEqual(order === 'confirm first' ? [] : ['grant-ended']);
      index = [{ ...grant, status: 'active' }];
      expect(await request(ports, 'a')).toBe(asked);
    },
  );
});

describe('a request that is repeated', () => {
  it('after a crash between the use and the call finds its use and takes no second one', async () => {
    const ports = processOver(store);
    const grant = await granted(ports, { maxUses: 2 });
    const crashing = before('ToolCallRequested', () => Promise.reject(new Error('crashed')));
    await expect(request(processOver(crashing), 'a')).rejects.toThrow('crashed');
    expect(await request(ports, 'a', {}, 'another command')).toBe(allowed);
    expect(await grantEvents(grant)).toEqual(['GrantCreated', 'GrantUsed']);
  });

  it('after a crash and a revocation is judged without the grant, also under the same command id', async () => {
    const ports = processOver(store);
    const grant = await granted(ports);
    const crashing = before('ToolCallRequested', () => Promise.reject(new Error('crashed')));
    await expect(request(processOver(crashing), 'a')).rejects.toThrow('crashed');
    await revokeGrant(ports, bob, { grantId: grant.terms.grantId }, 'revoke');
    expect(await request(ports, 'a')).toBe(asked);
  });

  it.each(['alice', 'Alice@example.com', 'mail:alice@example.com', 'T01:U01'])(
    'covers no call in the name of its creator, here %s',
    async (name) => {
      const people = {
        approver: () => ({ groups: [], isAway: false }),
        approvers: () => undefined,
        names: () => [['alice', 'T01:U01']],
      };
      const email = '{ id: alice, groups: [ops], identities: { email: "alice@example.com" } }';
      const content = `version: 1\ndefault: require\napprovers: [${email}]\nrules:\n${rule('low')}`;
      policies.activate(loadPolicy('countersign.policy.yaml', content, celEngine));
      const ports = processOver(store, { people });
      await granted(ports);
      const calls = [{ toolCallId: 'own', toolName: 'pay', arguments: {} }];
      await requestToolCalls(ports, agent, { runId: 'run', onBehalfOf: name, calls }, 'own');
      const events = await store.readStream(`toolCall-${deriveCallId('default', 'run', 'own')}`);
      expect(events.map(({ type }) => type).join()).toBe(asked);
      expect(await request(ports, 'another')).toBe(allowed);
    },
  );

  it.each(['bob', 'Bob@example.com', 'T01:U02'])(
    'covers no call in the name of the person who confirmed it, here %s',
    async (name) => {
      const people = {
        approver: () => ({ groups: ['ops'], isAway: false }),
        approvers: () => undefined,
        names: () => [['bob', 'T01:U02']],
      };
      const known =
        '{ id: alice, groups: [ops] }, { id: bob, groups: [ops], identities: { email: "bob@example.com" } }';
      const content = `version: 1\ndefault: require\napprovers: [${known}]\nrules:\n${rule('high')}`;
      policies.activate(loadPolicy('countersign.policy.yaml', content, celEngine));
      const ports = processOver(store, { people });
      const grant = await granted(ports);
      const confirmed = await confirmGrant(ports, bob, grant.terms.grantId, 'confirm');
      if (confirmed.status === 'refused') throw new Error(confirmed.refusal.detail);
      index = [confirmed.value];
      const calls = [{ toolCallId: 'own', toolName: 'pay', arguments: {} }];
      await requestToolCalls(ports, agent, { runId: 'run', onBehalfOf: name, calls }, 'own');
      const events = await store.readStream(`toolCall-${deriveCallId('default', 'run', 'own')}`);
      expect(events.map(({ type }) => type).join()).toBe(asked);
      expect(await request(ports, 'another')).toBe(allowed);
    },
  );

  it('covers no call once the person who confirmed it has left the group that is asked', async () => {
    const people = { approver: () => ({ groups: [], isAway: false }), approvers: () => undefined, names: () => [] };
    const withBobIn = (group: string) => {
      const known = `{ id: alice, groups: [ops] }, { id: bob, groups: [${group}] }`;
      const byOps = rule('high, anyOf: [ops]');
      const content = `version: 1\ndefault: require\napprovers: [${known}]\nrules:\n${byOps}`;
      policies.activate(loadPolicy('countersign.policy.yaml', content, celEngine));
    };
    withBobIn('ops');
    const ports = processOver(store, { people });
    const { grantId } = (await granted(ports)).terms;
    const confirmed = await confirmGrant(ports, bob, grantId, 'confirm');
    if (confirmed.status === 'refused') throw new Error(confirmed.refusal.detail);
    index = [confirmed.value];
    expect(await request(ports, 'a')).toBe(allowed);
    withBobIn('sales');
    expect(await request(ports, 'b')).toBe(asked);
  });

  it('is confirmed under no other name of its creator, whichever name the channels file has as the id', async () => {
    const people = {
      approver: () => ({ groups: ['ops'], isAway: false }),
      approvers: () => undefined,
      names: () => [['alice', 'T01:U01', 'alice@example.com']],
    };
    policies.activate(policyOf(rule('high')));
    const ports = processOver(store, { people });
    const { grantId } = (await granted(ports)).terms;
    for (const name of ['T01:U01', 'alice@example.com']) {
      const confirmed = await confirmGrant(ports, actor(name, 'approver'), grantId, name);
      expect(confirmed).toMatchObject({ status: 'refused', refusal: { code: 'own-request' } });
    }
  });

  it('of high risk is not for a digest, in which a second person would see no arguments', async () => {
    const ports = processOver(store);
    const match = { digest: argumentsDigest('pay', { amount: 1_000_000 }) };
    const byDigest = () => granted(ports, { match });
    policies.activate(policyOf(rule('high')));
    await expect(byDigest()).rejects.toThrow('sees no arguments in a digest');
    policies.activate(policyOf(rule('medium')));
    expect((await byDigest()).status).toBe('active');
  });

  it('with a hidden value is covered by no digest that a person wrote', async () => {
    const ports = processOver(store);
    const match = { digest: argumentsDigest('pay', { pin: '4711' }) };
    const grant = await granted(ports, { match });
    expect(await request(ports, 'a', { pin: '4711' })).toBe(asked);
    index = [{ ...grant, terms: { ...grant.terms, approvalId: 'remembered' } }];
    expect(await request(ports, 'b', { pin: '4711' })).toBe(allowed);
    await granted(ports, { match: { digest: argumentsDigest('pay', { to: 'kim' }) } });
    expect(await request(ports, 'c', { to: 'kim' })).toBe(allowed);
  });

  it('takes no use for a call that waits for people already, also where it is recorded without a read', async () => {
    const ports = processOver(store, { writeOnly: true });
    expect(await request(ports, 'a')).toBe(asked);
    const grant = await granted(ports);
    expect(await request(ports, 'a', {}, 'another command')).toBe(asked);
    expect(await request(ports, 'b')).toBe(allowed);
    expect(await grantEvents(grant)).toEqual(['GrantCreated', 'GrantUsed']);
  });
});

describe('a request that a quota refuses', () => {
  const history = { pendingOf: () => 1, denialsInARow: () => [], pendingCalls: () => [], callsOfBatch: () => [] };
  const factsOfRun = () => ({ calls: 0, denied: 0, startedAt: null });
  const ports = () => processOver(store, { history: { ...history, factsOfRun } });
  const requestAll = async (...calls: readonly string[]): Promise<string> => {
    const asked = calls.map((call) => {
      const [toolName = '', toolCallId = ''] = call.split(':');
      return { toolName, toolCallId, arguments: {} };
    });
    const outcome = await requestToolCalls(ports(), agent, { runId: 'run', calls: asked }, calls.join());
    return outcome.status === 'refused' ? outcome.refusal.code : outcome.status;
  };
  beforeEach(() => {
    policies.activate(policyOf(`${rule('low')}\nquotas: { pendingPerAgent: 1 }`));
  });

  it('is refused although it looked covered, where the grant ended at that moment', async () => {
    const grant = await granted(ports());
    await revokeGrant(ports(), bob, { grantId: grant.terms.grantId }, 'revoke');
    expect(await requestAll('pay:a')).toBe('too-many-requests');
  });
});

describe('a grant and the policy in force', () => {
  it('covers nothing once the policy no longer lists its creator', async () => {
    const ports = processOver(store);
    await granted(ports);
    policies.activate(
      loadPolicy('p.yaml', 'version: 1\ndefault: require\napprovers: [{ id: bob, groups: [ops] }]', celEngine),
    );
    expect(await request(ports, 'a')).toBe(asked);
  });

  it('costs a call that no grant is about no read and no append', async () => {
    const counting: EventStore = {
      ...store,
      readStream: (stream, ...more) => {
        appended.push(`read ${stream.split('-')[0] ?? ''}`);
        return store.readStream(stream, ...more);
      },
      append: (stream, ...more) => {
        appended.push(`append ${stream.split('-')[0] ?? ''}`);
        return store.append(stream, ...more);
      },
    };
    await granted(processOver(store), { agentId: 'another-agent' });
    await request(processOver(counting), 'a');
    expect(appended.filter((one) => one.includes('grant'))).toEqual([]);
    expect(appended.filter((one) => one.startsWith('append'))).toEqual(['append toolCall']);
  });

  it('stops at the budget of expressions of one request, and people are asked', async () => {
    const ports = processOver(store);
    const heavy = 'args.items.map(i, args.items.map(j, i + j)).size() > 0';
    for (let n = 0; n < 15; n += 1) await granted(ports, { match: { when: `${heavy} && ${String(n)} < 0` } });
    await granted(ports, { match: { when: 'true' } });
    expect(await request(ports, 'a', { items: Array.from({ length: 130 }, (_, n) => n) })).toBe(asked);
    expect(await request(ports, 'b', { items: [] })).toBe(allowed);
  });

  it('is refused beyond the limit of a tenant', async () => {
    const ports = processOver(store);
    const grant = await granted(ports);
    index = Array.from({ length: grantLimits.liveMax }, () => grant);
    await expect(granted(ports)).rejects.toThrow('this tenant has 1000 grants that have not ended; revoke one');
  });

  it('is refused beyond the limit of a tool', async () => {
    const ports = processOver(store);
    const grant = await granted(ports);
    index = Array.from({ length: grantLimits.liveOfToolMax - 1 }, () => grant);
    await granted(ports);
    await expect(granted(ports)).rejects.toThrow('the tool has 200 grants that have not ended; revoke one');
  });
});
