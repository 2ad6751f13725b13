import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { celEngine } from '@countersign/cel';
import { createWriteSide } from '@countersign/commands';
import type { ExplanationView, GrantView, QuotaView, ToolCallView } from '@countersign/contracts';
import { createOwnStoreClock } from '@countersign/event-store';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { systemClock } from '@countersign/runtime';
import { createHistory, loadConditions } from '@countersign/shell';
import { createApi } from '../testing/api.js';
import type { Api, Reply } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

const rules = 'rules: [{ id: mail, match: { tools: [mail] }, then: { require: { risk: low } } }]';

let world: World;
let api: Api;
let nowMs = 0;
async function open(quotas: string, written = rules): Promise<void> {
  nowMs = Date.parse('2026-12-01T10:00:00.000Z');
  const text = `version: 1\nquotas: { ${quotas} }\n${written}\n`;
  const content = loadPolicy('countersign.policy.yaml', text, celEngine);
  const clock = { ...systemClock, now: () => nowMs };
  world = await openWorld({
    change: (ports) => ({
      ...ports,
      clock,
      commands: createWriteSide({
        ...{
          store: { ...ports.store, clock: createOwnStoreClock(clock) },
          ids: ports.ids,
          log: ports.log,
          tools: ports.commands.tools,
        },
        policies: createPolicies([content]),
        grants: { index: ports.readModel.grants, conditions: loadConditions },
        history: createHistory(ports.readModel),
      }),
    }),
  });
  api = createApi(world);
}
afterEach(() => world.close());

interface Refusal {
  readonly code: string;
  readonly detail: string;
  readonly callId?: string;
  readonly approvalId?: string;
}
type Answer = Reply<Refusal & { readonly calls: readonly ToolCallView[] }>;

/** Requests calls of the tool `mail`, each to its own name. */
const mail = (names: readonly string[], more: object = {}): Promise<Answer> =>
  api.send('POST', '/v1/tool-calls', {
    body: {
      runId: 'run',
      calls: names.map((name) => ({ toolCallId: name, toolName: 'mail', arguments: { to: name } })),
      ...more,
    },
  });
async function decide(answer: Answer, type: 'approve' | 'deny'): Promise<void> {
  const path = `/v1/approvals/${answer.body.calls[0]?.approval?.approvalId ?? ''}/responses`;
  expect((await api.send('POST', path, { as: 'ann', body: { decision: { type } } })).status).toBe(200);
}
const deny = async (name: string, more: object = {}): Promise<void> => decide(await mail([name], more), 'deny');
const explain = async (body: object): Promise<readonly QuotaView[] | null> =>
  (
    await api.send<ExplanationView>('POST', '/v1/policy/explain', {
      as: 'auditor',
      body: { toolName: 'mail', ...body },
    })
  ).body.quotas;

describe('a cap on the pending calls of an agent', () => {
  beforeEach(() => open('pendingPerAgent: 2'));

  it('is answered 429 with Retry-After, and ends with a decision', async () => {
    const first = await mail(['a']);
    await mail(['b']);
    const refused = await mail(['c']);
    expect(refused).toMatchObject({ status: 429, body: { code: 'too-many-requests' } });
    expect(refused.headers.get('retry-after')).toBe('60');
    await decide(first, 'deny');
    expect((await mail(['c'])).status).toBe(201);
  });

  it('refuses a batch that goes over it in the middle as a whole', async () => {
    expect(await mail(['a', 'b', 'c'])).toMatchObject({ status: 429 });
    const { body } = await api.send<{ calls: ToolCallView[] }>('GET', '/v1/tool-calls?runId=run', { as: 'auditor' });
    expect(body.calls).toEqual([]);
    for (const batchMode of ['independent', 'all-or-nothing']) {
      expect((await mail(['d', 'e', 'f'], { batchId: 'b', batchMode })).status).toBe(429);
    }
    expect((await mail(['a', 'b'], { batchId: 'b', batchMode: 'all-or-nothing' })).status).toBe(201);
  });

  it('does not count a call that a standing grant covers', async () => {
    const body = { toolName: 'mail', match: { when: 'args.to == "kim"' }, expiresInMs: 60_000, reason: 'a busy week' };
    expect((await api.send<GrantView>('POST', '/v1/grants', { as: 'ann', body })).status).toBe(201);
    expect((await mail(['a', 'kim', 'b'])).body.calls.map(({ state }) => state)).toEqual([
      ...['awaiting_approval', 'allowed', 'awaiting_approval'],
    ]);
    expect((await mail(['c'])).status).toBe(429);
    const covered = { toolCallId: 'again', toolName: 'mail', arguments: { to: 'kim' } };
    expect((await mail([], { calls: [covered] })).body.calls[0]?.state).toBe('allowed');
  });

  it('counts all calls of a token that may name agents by a glob', async () => {
    await mail(['a'], { agentId: 'name-1' });
    await mail(['b'], { agentId: 'name-2' });
    const refused = await mail(['c'], { agentId: 'name-3' });
    expect(refused).toMatchObject({
      status: 429,
      body: { detail: expect.stringContaining('principal "agent" has 2') },
    });
  });

  it('counts an agent of its own where the token lists its name in full', async () => {
    const by = (agentId: string | undefined, toolCallId: string) =>
      api.send('POST', '/v1/tool-calls', {
        as: 'agent2',
        body: { runId: 'r', agentId, calls: [{ toolCallId, toolName: 'mail', arguments: {} }] },
      });
    for (const name of ['a', 'b']) expect((await by('agent-2', name)).status).toBe(201);
    expect((await by('agent-2', 'c')).status).toBe(429);
    expect((await by('billing-1', 'd')).status).toBe(429);
  });

  it('is explained: the limit, the pending calls, and the refusal', async () => {
    expect(await explain({ agentId: 'agent' })).toEqual([
      {
        ...{ quota: 'pendingPerAgent', counts: 'agent', name: 'agent', limit: 2, used: 0, windowMs: null },
        ...{ coolDownUntil: null, identical: null, refusal: null },
      },
    ]);
    await mail(['a', 'b']);
    expect(await explain({ agentId: 'agent' })).toMatchObject([{ used: 2, refusal: { code: 'too-many-requests' } }]);
    expect(await explain({ agentId: 'new', requestedBy: 'agent' })).toMatchObject([
      { counts: 'agent', used: 0, refusal: null },
      { counts: 'principal', name: 'agent', used: 2, refusal: { code: 'too-many-requests' } },
    ]);
    expect(await explain({ toolName: 'read' })).toEqual([]);
    const countedFor = async (body: object) =>
      (await api.send<ExplanationView>('POST', '/v1/policy/explain', { as: 'auditor', body })).body.countedFor;
    expect(await countedFor({ toolName: 'mail', agentId: 'new' })).toEqual({ requestedBy: 'new', isAssumed: true });
    expect(await countedFor({ toolName: 'mail', requestedBy: 'agent' })).toEqual({
      ...{ requestedBy: 'agent', isAssumed: false },
    });
    expect(await countedFor({ toolName: 'read' })).toBeUndefined();
  });
});

describe('a cool-down', () => {
  beforeEach(() => open('deniedBeforeCoolDown: 2, coolDown: 10m'));

  it('follows denials in a row, is answered 429 with Retry-After, and ends', async () => {
    await deny('a');
    await deny('b');
    nowMs += 60_000;
    const refused = await mail(['c']);
    expect(refused).toMatchObject({ status: 429, body: { detail: expect.stringContaining('10:10:00.000Z') } });
    expect(refused.headers.get('retry-after')).toBe('540');
    nowMs += 540_000;
    expect((await mail(['c'])).status).toBe(201);
  });

  it('counts the denials of all agents that a token names by a glob', async () => {
    await deny('a', { agentId: 'name-1' });
    await deny('b', { agentId: 'name-2' });
    expect(await mail(['c'], { agentId: 'name-3' })).toMatchObject({ status: 429 });
  });

  it('is explained: the denials, the window, and the end', async () => {
    await deny('a');
    expect(await explain({ agentId: 'agent' })).toMatchObject([
      { quota: 'coolDown', limit: 2, used: 1, windowMs: 600_000, coolDownUntil: null, refusal: null },
    ]);
    await deny('b');
    expect(await explain({ agentId: 'agent' })).toMatchObject([
      { used: 2, coolDownUntil: '2026-12-01T10:10:00.000Z', refusal: { code: 'too-many-requests' } },
    ]);
    nowMs += 600_001;
    expect(await explain({ agentId: 'agent' })).toMatchObject([{ used: 0, coolDownUntil: null, refusal: null }]);
  });
});

describe('an identical call that waits for people', () => {
  beforeEach(() => open('coalesceIdentical: true'));

  const same = (toolCallId: string, more: object = {}): Promise<Answer> =>
    mail([], { calls: [{ toolCallId, toolName: 'mail', arguments: { to: 'kim' } }], ...more });

  it('is named by the answer 409 to the second one', async () => {
    const first = await same('a');
    const { callId, approval } = first.body.calls[0] ?? {};
    expect(await same('b')).toMatchObject({
      status: 409,
      body: { code: 'already-pending', callId, toolCallId: 'a', approvalId: approval?.approvalId },
    });
    await decide(first, 'deny');
    expect((await same('b')).status).toBe(201);
  });

  it('is none for another folder: its arguments mean something else there', async () => {
    const call = { toolName: 'mail', arguments: { to: 'kim' } };
    const inFolder = (cwd: string, ...toolCallIds: readonly string[]) =>
      mail([], { calls: toolCallIds.map((toolCallId) => ({ ...call, toolCallId, labels: { cwd } })) });
    expect((await inFolder('/staging', 'a')).status).toBe(201);
    expect((await inFolder('/production', 'b')).status).toBe(201);
    expect((await inFolder('/staging', 'c')).body.code).toBe('already-pending');
    expect((await inFolder('/other', 'd', 'e')).body.code).toBe('already-pending');
    const [identical] = (await explain({ agentId: 'agent', runId: 'run', ...call, labels: { cwd: '/third' } })) ?? [];
    expect(identical).toMatchObject({ used: 0, identical: null });
  });

  it('is found under another agent name of the same token', async () => {
    await same('a', { agentId: 'name-1' });
    expect((await same('b', { agentId: 'name-2' })).body.code).toBe('already-pending');
  });

  it('is explained: which call waits', async () => {
    const { callId } = (await same('a')).body.calls[0] ?? {};
    const [identical] = (await explain({ agentId: 'agent', runId: 'run', arguments: { to: 'kim' } })) ?? [];
    expect(identical).toMatchObject({ identical: { callId, toolCallId: 'a' }, refusal: { code: 'already-pending' } });
    expect(await explain({ agentId: 'agent', runId: 'run', arguments: { to: 'lee' } })).toMatchObject([
      { used: 0, identical: null, refusal: null },
    ]);
  });
});

describe('an identical call of another tool about which a rule asks with its step', () => {
  it('is named by the answer 409 as well', async () => {
    const wire = '{ id: wire, match: { tools: [wire] }, then: { require: { batch: any-asks-all } } }';
    await open('coalesceIdentical: true', `rules: [${wire}]\ndefault: allow`);
    const call = (toolCallId: string, toolName: string, to = toolCallId) => ({
      ...{ toolCallId, toolName, arguments: { to } },
    });
    const first = await mail([], { calls: [call('a', 'wire'), call('b', 'mail', 'kim')] });
    expect(first.body.calls.map(({ state }) => state)).toEqual(['awaiting_approval', 'awaiting_approval']);
    const { callId } = first.body.calls[1] ?? {};
    expect(await mail([], { calls: [call('c', 'wire'), call('d', 'mail', 'kim')] })).toMatchObject({
      status: 409,
      body: { code: 'already-pending', callId, toolCallId: 'b' },
    });
    expect((await mail([], { calls: [call('e', 'mail', 'kim')] })).body.calls[0]?.state).toBe('allowed');
  });
});

describe('a waiting call with a hidden value', () => {
  it('is not found by guesses of the value, in an explanation or by a request of another principal', async () => {
    await open('coalesceIdentical: true');
    const calls = (toolCallId: string) => [{ toolCallId, toolName: 'mail', arguments: { pin: '4711' } }];
    expect((await mail([], { calls: calls('a') })).status).toBe(201);
    const [identical] = (await explain({ agentId: 'agent', runId: 'run', arguments: { pin: '4711' } })) ?? [];
    expect(identical).toMatchObject({ used: 0, identical: null, refusal: null });
    const asOwner = { agentId: 'agent', runId: 'run', requestedBy: 'agent', arguments: { pin: '4711' } };
    expect(await explain(asOwner)).toMatchObject([{ identical: null }, { identical: null }]);
    expect((await mail([], { calls: calls('b') })).body.code).toBe('already-pending');
  });
});

describe('names of the language in quotas', () => {
  beforeEach(() => open('pendingPerAgent: 1, coalesceIdentical: true'));

  const named = (name: string) => {
    const call = `{ "toolCallId": "${name}", "toolName": "mail", "arguments": { "${name}": 1 }, "labels": { "${name}": "a" } }`;
    const raw = `{ "runId": "${name}", "agentId": "${name}", "calls": [${call}] }`;
    return api.send('POST', '/v1/tool-calls', { raw, headers: { 'content-type': 'application/json' } });
  };

  it.each(['constructor', 'toString', 'hasOwnProperty'])('counts an agent named %s like any other', async (name) => {
    expect((await named(name)).status).toBe(201);
    expect((await mail(['b'], { agentId: name })).status).toBe(429);
    expect((await explain({ agentId: name, requestedBy: 'agent' }))?.[0]).toMatchObject({ name, used: 0 });
    expect((await explain({ agentId: name, requestedBy: 'agent' }))?.[1]).toMatchObject({ name, used: 1 });
  });

  it('refuses a member named __proto__, and counts an agent of this name', async () => {
    expect((await named('__proto__')).status).toBe(400);
    expect((await mail(['a'], { agentId: '__proto__' })).status).toBe(201);
    expect((await mail(['b'], { agentId: '__proto__' })).status).toBe(429);
  });
});
