import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { celEngine } from '@countersign/cel';
import { createKeyedQueue, createWriteSide } from '@countersign/commands';
import type { GrantView, ToolCallView } from '@countersign/contracts';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { createHistory, loadConditions } from '@countersign/shell';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

const rules = 'rules: [{ id: mail, match: { tools: [mail] }, then: { require: { risk: low } } }]';

let world: World;
let api: Api;
/** The principal `agent` may name every agent, `agent-2` lists its own name in full. */
async function open(quotas: string): Promise<void> {
  const content = loadPolicy('countersign.policy.yaml', `version: 1\n${quotas}\n${rules}\n`, celEngine);
  world = await openWorld({
    change: (ports) => {
      const { store, readModel, clock, ids, log } = ports;
      const inTurn = createKeyedQueue();
      const commands = createWriteSide({
        ...{ store, clock, ids, log, tools: ports.commands.tools, policies: createPolicies([content]) },
        grants: { index: readModel.grants, conditions: loadConditions },
      });
      const asking = {
        history: createHistory(readModel),
        // In one process, the views show each write before the next request is decided.
        inTurn: <Value>(key: string, work: () => Promise<Value>) =>
          inTurn(key, async () => {
            await readModel.reached(await store.head());
            return work();
          }),
      };
      return { ...ports, commands: { ...commands, asking } };
    },
  });
  api = createApi(world);
}
afterEach(() => world.close());

interface Answer {
  readonly code?: string;
  readonly detail?: string;
  readonly calls: readonly ToolCallView[];
}

/** A call of the agent `agent-2`, requested by one of the two principals. */
const mailAs = (as: 'agent' | 'agent2', toolCallId: string) =>
  api.send<Answer>('POST', '/v1/tool-calls', {
    as,
    body: {
      ...{ runId: 'run', agentId: 'agent-2' },
      calls: [{ toolCallId, toolName: 'mail', arguments: { to: 'kim' } }],
    },
  });
const stateAs = async (as: 'agent' | 'agent2', toolCallId: string) =>
  (await mailAs(as, toolCallId)).body.calls[0]?.state;

describe('the quotas of an agent', () => {
  it('are used up by no other principal that names the agent by a glob', async () => {
    await open('quotas: { pendingPerAgent: 2 }');
    for (const name of ['a', 'b']) expect((await mailAs('agent', name)).status).toBe(201);
    expect(await mailAs('agent', 'c')).toMatchObject({ status: 429 });
    for (const name of ['d', 'e']) expect((await mailAs('agent2', name)).status).toBe(201);
    expect(await mailAs('agent2', 'f')).toMatchObject({
      status: 429,
      body: { detail: expect.stringContaining('The agent "agent-2" has 2') },
    });
  });

  it('bring no cool-down for the denials of another principal', async () => {
    await open('quotas: { deniedBeforeCoolDown: 2, coolDown: 10m }');
    for (const name of ['a', 'b']) {
      const { body } = await mailAs('agent', name);
      const path = `/v1/approvals/${body.calls[0]?.approval?.approvalId ?? ''}/responses`;
      expect((await api.send('POST', path, { as: 'ann', body: { decision: { type: 'deny' } } })).status).toBe(200);
    }
    expect((await mailAs('agent', 'c')).status).toBe(429);
    expect((await mailAs('agent2', 'd')).status).toBe(201);
  });
});

describe('a grant for an agent', () => {
  beforeEach(() => open(''));

  const grant = (more: object = {}) =>
    api.send<GrantView>('POST', '/v1/grants', {
      as: 'ann',
      body: { toolName: 'mail', match: { any: true }, expiresInMs: 60_000, reason: 'busy', ...more },
    });

  it('that was remembered with a call covers no call of another principal', async () => {
    const { body } = await mailAs('agent2', 'a');
    const remember = { match: 'tool', scope: 'agent', expiresInMs: 60_000 };
    const path = `/v1/approvals/${body.calls[0]?.approval?.approvalId ?? ''}/responses`;
    const given = await api.send('POST', path, { as: 'ann', body: { decision: { type: 'approve' }, remember } });
    expect(given.status).toBe(200);
    expect(await stateAs('agent', 'b')).toBe('awaiting_approval');
    expect(await stateAs('agent2', 'c')).toBe('allowed');
  });

  it('that names no principal covers the calls of all who may speak for the agent', async () => {
    expect((await grant({ agentId: 'agent-2' })).body).toMatchObject({ agentId: 'agent-2', requestedBy: null });
    expect(await stateAs('agent', 'a')).toBe('allowed');
    expect(await stateAs('agent2', 'b')).toBe('allowed');
  });

  it('that names a principal covers its calls alone', async () => {
    expect((await grant({ agentId: 'agent-2', requestedBy: 'agent' })).body).toMatchObject({ requestedBy: 'agent' });
    expect(await stateAs('agent', 'a')).toBe('allowed');
    expect(await stateAs('agent2', 'b')).toBe('awaiting_approval');
  });
});

describe('an all-or-nothing batch that arrives in two requests', () => {
  beforeEach(() => open(''));

  const batch = (names: readonly string[], more: object = {}, as = 'agent') =>
    api.send<Answer & { readonly errors?: readonly { readonly path: string }[] }>('POST', '/v1/tool-calls', {
      as,
      body: {
        ...{ runId: 'run', batchId: 'pay-all', batchMode: 'all-or-nothing' },
        calls: names.map((toolCallId) => ({ toolCallId, toolName: 'read', arguments: {} })),
        ...more,
      },
    });
  const refusal = { status: 400, body: { code: 'invalid-request', errors: [{ path: 'batchId' }] } };

  it.each([[['a']], [['a', 'b']]])('is refused at the second one, after %s', async (first) => {
    expect((await batch(first)).status).toBe(201);
    expect(await batch(['c'])).toMatchObject(refusal);
    expect(await batch(['c', 'd'])).toMatchObject(refusal);
    const calls = await api.send<{ calls: ToolCallView[] }>('GET', '/v1/tool-calls?runId=run', { as: 'auditor' });
    expect(calls.body.calls.map(({ toolCallId }) => toolCallId).toSorted()).toEqual(first);
  });

  it('is refused also when both come at the same moment', async () => {
    const both = await Promise.all([batch(['a', 'b']), batch(['c', 'd'])]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([201, 400]);
  });

  it('may be repeated, and its id is free for other runs, other principals and independent calls', async () => {
    await batch(['a', 'b']);
    expect((await batch(['b', 'a'])).status).toBe(200);
    expect((await batch(['a'], { runId: 'run-2' })).status).toBe(201);
    expect((await batch(['x', 'y'], {}, 'agent2')).status).toBe(201);
    expect((await batch(['e'], { batchMode: 'independent' })).status).toBe(201);
    expect((await batch(['f', 'g'], { batchId: 'pay-others' })).status).toBe(201);
    expect((await batch(['h', 'i'], { batchId: undefined })).status).toBe(201);
    expect((await batch(['j', 'k'], { batchId: undefined })).status).toBe(201);
  });
});
