import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readable } from '@countersign/event-store/testing';
import { celEngine } from '@countersign/cel';
import { recordPolicy, recordShadowPolicy } from '@countersign/commands';
import type { PolicyVersions, ShadowReport } from '@countersign/contracts';
import { createPolicies, createShadowPolicy, loadPolicy } from '@countersign/policy';
import type { Policy } from '@countersign/policy';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openStream } from '../testing/event-stream.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

const live = loadPolicy('live.yaml', 'version: 1\nrequireApprovalTools: [pay, wire]\n');
const candidate = loadPolicy(
  'candidate.yaml',
  `version: 1
default: require
rules:
  - { id: small, match: { tools: [pay] }, when: args.amount < 10, then: allow }
  - { id: never, match: { tools: [drop] }, then: { block: "not by an agent" } }
`,
  celEngine,
);

let world: World;
let api: Api;
let shadow: { of: (tenant: string) => Policy | undefined };
const activate = async (): Promise<void> => {
  const policy = createShadowPolicy();
  policy.activate(candidate);
  await recordShadowPolicy(world.store, candidate, '2026-01-02T00:00:00.000Z');
  shadow = policy;
};
beforeAll(async () => {
  shadow = { of: () => undefined };
  const beside = { of: (tenant: string) => shadow.of(tenant) };
  world = await openWorld({
    policies: createPolicies([live]),
    change: (ports) => ({ ...ports, commands: { ...ports.commands, shadow: beside } }),
  });
  api = createApi(world);
});
afterAll(() => world.close());

const report = async (as = 'ann') => (await api.send<ShadowReport>('GET', '/v1/policy/shadow', { as })).body;
const typesOf = async (callId: string) => (await world.store.readStream(`toolCall-${callId}`)).map(({ type }) => type);

describe('a candidate policy beside the one in force', () => {
  it('costs nothing and reports nothing when there is none', async () => {
    const { callId } = await api.request({ toolName: 'pay' });
    expect(await typesOf(callId)).toEqual(['ToolCallRequested', 'ApprovalRequested']);
    expect(await report()).toMatchObject({ policyVersion: null, since: null, calls: 0, changes: [], complete: true });
  });

  it('has its verdict recorded with each call of its tenant, and decides nothing', async () => {
    await activate();
    const small = await api.request({ toolName: 'pay', arguments: { amount: 5 } });
    expect(small).toMatchObject({ state: 'awaiting_approval', verdict: { ruleId: 'requireApprovalTools' } });
    const events = readable(await world.store.readStream(`toolCall-${small.callId}`));
    expect(events.map(({ type }) => type)).toEqual(['ToolCallRequested', 'ApprovalRequested', 'ToolCallShadowJudged']);
    expect(events.at(-1)?.data).toMatchObject({
      ...{ policyVersion: candidate.version, outcome: 'allow', ruleId: 'small', differs: ['outcome'] },
      live: { outcome: 'require', ruleId: 'requireApprovalTools' },
    });
    // Allowed although the candidate would block it.
    expect(await api.request({ toolName: 'drop' })).toMatchObject({ state: 'allowed' });
    const other = await api.send<{ calls: { callId: string }[] }>('POST', '/v1/tool-calls', {
      as: 'other',
      body: { runId: 'r', calls: [{ toolCallId: 'a', toolName: 'drop', arguments: {} }] },
    });
    expect(await typesOf(other.body.calls[0]?.callId ?? '')).not.toContain('ToolCallShadowJudged');
  });

  it('adds nothing to a repeated request', async () => {
    const body = { runId: 'again', calls: [{ toolCallId: 'a', toolName: 'wire', arguments: {} }] };
    await api.send('POST', '/v1/tool-calls', { body });
    const before = await world.store.head();
    expect((await api.send('POST', '/v1/tool-calls', { body })).status).toBe(200);
    expect(await world.store.head()).toBe(before);
  });

  it('is reported by rule, with the calls that differ, the latest first', async () => {
    expect(await report()).toMatchObject({
      policyVersion: candidate.version,
      since: '2026-01-02T00:00:00.000Z',
      ...{ calls: 3, changed: 2, complete: true },
      rules: [
        { ruleId: 'small', calls: 1, changed: 1 },
        { ruleId: 'never', calls: 1, changed: 1 },
        { ruleId: 'default', calls: 1, changed: 0 },
      ],
      changes: [
        { toolName: 'drop', before: { outcome: 'allow' }, after: { outcome: 'block', ruleId: 'never' } },
        { toolName: 'pay', before: { outcome: 'require' }, after: { outcome: 'allow', ruleId: 'small' } },
      ],
    });
  });

  it('is not told to agents, over the event stream either', async () => {
    const types = 'ToolCallShadowJudged,ShadowPolicyActivated,ToolCallRequested';
    const seen = async (as: string, count: number) => {
      const stream = await openStream(`${world.url}/v1/events?types=${types}`, as);
      const messages = await stream.until(count);
      stream.close();
      return new Set(messages.map(({ event }) => event));
    };
    expect(await seen('ann', 8)).toEqual(
      new Set(['ToolCallRequested', 'ToolCallShadowJudged', 'ShadowPolicyActivated']),
    );
    await api.request({ toolName: 'pay' });
    expect(await seen('agent', 5)).toEqual(new Set(['ToolCallRequested']));
  });

  it('changes nothing when it throws', async () => {
    const broken = shadow.of('default');
    shadow = {
      of: () =>
        broken && {
          ...broken,
          judge: () => {
            throw new Error('a fault of the candidate');
          },
        },
    };
    const { callId, state } = await api.request({ toolName: 'pay' });
    expect(state).toBe('awaiting_approval');
    expect(await typesOf(callId)).toEqual(['ToolCallRequested', 'ApprovalRequested']);
    expect(world.log.entries.map(({ message }) => message)).toContain('the candidate policy could not judge a request');
  });

  it('that costs too much ends with its own budget, and leaves the verdict as it is', async () => {
    const costly = createShadowPolicy();
    const when = 'args.l.all(a, args.l.all(b, args.l.all(c, a + b + c >= 0.0)))';
    const rules = Array.from({ length: 100 }, (_, n) => ({ id: `r${String(n)}`, when, then: 'allow' }));
    costly.activate(loadPolicy('costly.yaml', JSON.stringify({ version: 1, rules }), celEngine));
    shadow = costly;
    const list = Array.from({ length: 200 }, (_, n) => n);
    const before = performance.now();
    const { callId, state } = await api.request({ toolName: 'pay', arguments: { l: list } });
    expect(performance.now() - before).toBeLessThan(60_000);
    expect(state).toBe('awaiting_approval');
    const last = readable(await world.store.readStream(`toolCall-${callId}`)).at(-1);
    expect(last).toMatchObject({ type: 'ToolCallShadowJudged', data: { outcome: 'allow', ruleId: 'default' } });
    expect(last?.data).toHaveProperty('why.length', 10);
  });
});

describe('the versions of the policy', () => {
  it('are listed, the latest first, and the content of one on request', async () => {
    const second = loadPolicy('second.yaml', 'version: 1\n');
    await recordPolicy(world.store, live, '2026-01-01T00:00:00.000Z');
    await recordPolicy(world.store, second, '2026-01-02T00:00:00.000Z');
    await recordPolicy(world.store, live, '2026-01-03T00:00:00.000Z');
    const versions = async (query: string) =>
      (await api.send<PolicyVersions>('GET', `/v1/policy/versions?${query}`, { as: 'ann' })).body;
    const of = (policyVersion: string, day: number) => ({
      ...{ policyVersion, activatedBy: 'operator', activatedAt: `2026-01-0${String(day)}T00:00:00.000Z` },
    });
    expect(await versions('')).toEqual({
      versions: [of(live.version, 3), of(second.version, 2), of(live.version, 1)],
      more: false,
    });
    expect(await versions('limit=1')).toEqual({ versions: [of(live.version, 3)], more: true });
    expect(await versions(`policyVersion=${second.version}`)).toEqual({
      versions: [{ ...of(second.version, 2), content: second.source }],
      more: false,
    });
    const wrong = await api.send('GET', '/v1/policy/versions?policyVersion=latest', { as: 'ann' });
    expect(wrong).toMatchObject({ status: 400, body: { errors: [{ path: 'policyVersion' }] } });
  });
});
