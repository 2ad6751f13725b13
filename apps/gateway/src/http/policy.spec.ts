import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readable } from '@countersign/event-store/testing';
import { celEngine } from '@countersign/cel';
import { recordPolicy } from '@countersign/commands';
import type { ApprovalView, ExplanationView, PolicyView, ToolCallView } from '@countersign/contracts';
import { createPolicies, loadPolicy } from '@countersign/policy';
import type { RecordOfUse } from '../record-of-use.js';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

const content = loadPolicy(
  'countersign.policy.yaml',
  `version: 1
approvers:
  - { id: ann, groups: [ops] }
  - { id: bob, groups: [security] }
  - { id: auditor, groups: [ops] }
rules:
  - id: no-drop
    match: { tools: [execute_sql] }
    when: 'args.statement.lowerAscii().contains("drop table")'
    then: { block: "Tables are never dropped by an agent" }
  - id: small-refunds
    match: { tools: [refund] }
    when: args.amount <= 50
    then: allow
  - id: refunds
    match: { tools: [refund] }
    then: { require: { allOf: [ops, security], risk: high, requireReason: [deny] } }
`,
  celEngine,
);

let world: World;
let api: Api;
/** The events that are recorded in the system stream. */
const recorded: object[] = [];
beforeAll(async () => {
  const use = { auditRead: (_: unknown, read: object) => void recorded.push(read) } as unknown as RecordOfUse;
  world = await openWorld({
    change: (ports) => ({ ...ports, use }),
    policies: createPolicies([content]),
    tools: {
      find: (_, name) =>
        name === 'send_mail' ? { needsApproval: true, idempotent: false, inputSchema: null } : undefined,
    },
  });
  api = createApi(world);
});
afterAll(() => world.close());

const explain = (body: object, as = 'auditor') => api.send<ExplanationView>('POST', '/v1/policy/explain', { as, body });

const request = async (toolCallId: string, toolName: string, args: object): Promise<ToolCallView> => {
  const calls = [{ toolCallId, toolName, arguments: args }];
  const { body } = await api.send<{ calls: ToolCallView[] }>('POST', '/v1/tool-calls', { body: { runId: 'r', calls } });
  if (body.calls[0] === undefined) throw new Error('the call was refused');
  return body.calls[0];
};

describe('a policy with rules', () => {
  it('gives each call the verdict of its rule', async () => {
    expect(await request('1', 'execute_sql', { statement: 'drop table users' })).toMatchObject({
      state: 'blocked',
      verdict: { outcome: 'block', ruleId: 'no-drop', policyVersion: content.version },
    });
    expect(await request('2', 'refund', { amount: 5 })).toMatchObject({ state: 'allowed' });
    const asked = await request('3', 'refund', { amount: 500 });
    expect(asked).toMatchObject({ state: 'awaiting_approval', verdict: { ruleId: 'refunds', automatic: false } });
    expect(asked.approval).toMatchObject({
      risk: 'high',
      requirement: { stages: [{ mode: 'all-of', groups: ['ops', 'security'] }], requireReason: ['deny'] },
    });
  });

  it('gives people groups, in addition to those of their sign-in', async () => {
    const { callId, approval } = await request('5', 'refund', { amount: 500 });
    const path = `/v1/approvals/${approval?.approvalId ?? ''}/responses`;
    const approve = { body: { decision: { type: 'approve' } } };
    expect((await api.send<ApprovalView>('POST', path, { as: 'ann', ...approve })).body.state).toBe('pending');
    // The tokens file gives Bob no group.
    expect((await api.send<ApprovalView>('POST', path, { as: 'bob', ...approve })).body.state).toBe('approved');
    const events = readable(await world.store.readStream(`toolCall-${callId}`));
    expect(events.map(({ data }) => data).at(-1)).toMatchObject({ respondedBy: 'bob', groups: ['security'] });
  });

  it('does not make a listed person an approver', async () => {
    const { approval } = await request('6', 'refund', { amount: 500 });
    const path = `/v1/approvals/${approval?.approvalId ?? ''}/responses`;
    const { status } = await api.send('POST', path, { as: 'auditor', body: { decision: { type: 'approve' } } });
    expect(status).toBe(403);
  });

  it('judges an edit by the rule of the new arguments', async () => {
    const { approval } = await request('4', 'refund', { amount: 500 });
    const path = `/v1/approvals/${approval?.approvalId ?? ''}/responses`;
    const edit = { type: 'edit', arguments: { amount: 1 } };
    // The new amount alone would be allowed. The people of the first rule must still agree.
    const { body } = await api.send<ApprovalView>('POST', path, { as: 'ann', body: { decision: edit } });
    expect(body).toMatchObject({ state: 'pending', arguments: { amount: 1 } });
  });
});

describe('GET /v1/policy', () => {
  it('shows the policy in force, and since when it is', async () => {
    expect((await api.send<PolicyView>('GET', '/v1/policy', { as: 'ann' })).body).toEqual({
      policyVersion: content.version,
      content: content.source,
      activatedAt: null,
      activatedBy: null,
    });
    await recordPolicy(world.store, content, '2026-11-24T10:00:00.000Z');
    expect((await api.send<PolicyView>('GET', '/v1/policy', { as: 'auditor' })).body).toMatchObject({
      activatedAt: '2026-11-24T10:00:00.000Z',
      activatedBy: 'operator',
    });
  });
});

describe('POST /v1/policy/explain', () => {
  it('says what each rule says of a call', async () => {
    const { status, body } = await explain({ toolName: 'refund', arguments: { amount: 60 } });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      verdict: { outcome: 'require', ruleId: 'refunds' },
      requirement: { risk: 'high' },
      rules: [
        { ruleId: 'no-drop', matched: false, failed: false, why: 'the tool does not match "execute_sql"' },
        { ruleId: 'small-refunds', matched: false, failed: false },
        { ruleId: 'refunds', matched: true, failed: false },
      ],
    });
  });

  it('says why an expression has no answer', async () => {
    const { body } = await explain({ toolName: 'refund', arguments: { amount: '60' } });
    expect(body.rules[1]).toMatchObject({
      matched: false,
      failed: true,
      why: expect.stringContaining('_<=_'),
    });
  });

  it('counts what the tools file asks for', async () => {
    const { body } = await explain({ toolName: 'send_mail' });
    expect(body).toMatchObject({ verdict: { outcome: 'require', ruleId: 'needsApproval' } });
  });

  it('records nothing', async () => {
    const before = await world.store.head();
    await explain({ toolName: 'refund', arguments: { amount: 60 } });
    expect(await world.store.head()).toBe(before);
  });

  it.each([
    [{}, 'toolName'],
    [{ toolName: 'x', tool: 'y' }, 'tool'],
    [{ toolName: 'x', at: 'noon' }, 'at'],
  ])('refuses what is no call: %j', async (body, path) => {
    expect((await explain(body)).body).toMatchObject({ code: 'invalid-request', errors: [{ path }] });
  });

  it('is not for agents, who would learn which arguments no person looks at', async () => {
    expect((await explain({ toolName: 'x' }, 'agent')).status).toBe(403);
    expect((await api.send('GET', '/v1/policy', { as: 'agent' })).status).toBe(403);
  });
});

describe('POST /v1/policy/backtest', () => {
  const backtest = async (body: object, as = 'auditor') => {
    const response = await fetch(`${world.url}/v1/policy/backtest`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${as}-token` },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };
  const linesOf = (text: string): unknown[] =>
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);

  it('lists the recorded calls that change, and ends with a summary', async () => {
    await request('back-1', 'refund', { amount: 7 });
    const { status, text } = await backtest({
      content: { version: 1, rules: [{ id: 'all', then: { block: 'closed' } }] },
    });
    expect(status).toBe(200);
    const lines = linesOf(text);
    expect(lines).toContainEqual(
      expect.objectContaining({
        toolName: 'refund',
        before: { outcome: 'allow', ruleId: 'small-refunds' },
        after: { outcome: 'block', ruleId: 'all' },
      }),
    );
    const { summary } = lines.at(-1) as { summary: { calls: number; changed: number } };
    expect(summary.calls).toBeGreaterThanOrEqual(2);
    expect(summary.changed).toBe(lines.length - 1);
    // The drop was blocked before and is blocked now.
    expect(summary.changed).toBeLessThan(summary.calls);
  });

  it('looks at the calls of a time only', async () => {
    const content = { version: 1 };
    const past = await backtest({ content, to: '2020-01-01T00:00:00Z' });
    expect(linesOf(past.text)).toMatchObject([{ summary: { calls: 0 } }]);
    const future = await backtest({ content, from: '2999-01-01T00:00:00Z' });
    expect(linesOf(future.text)).toMatchObject([{ summary: { calls: 0 } }]);
  });

  it('refuses a candidate that cannot be used, with every problem', async () => {
    const { status, text } = await backtest({
      content: { version: 1, rules: [{ id: 'a', when: 'x', then: 'maybe' }] },
    });
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({
      code: 'invalid-request',
      errors: [{ path: 'content.rules.0.then' }, { path: 'content.rules.0.when' }],
    });
  });

  it('is for auditors alone: a rule can look at hidden values', async () => {
    expect((await backtest({ content: { version: 1 } }, 'ann')).status).toBe(403);
  });

  it('is recorded as a read of clear values where the candidate has expressions, which can tell hidden ones', async () => {
    const guess = (when: object) => ({
      content: { version: 1, rules: [{ id: 'guess', match: { tools: ['login'] }, ...when, then: { block: 'hit' } }] },
      from: '2020-01-01T00:00:00Z',
    });
    await request('guessed', 'login', { password: 'hunter2' });
    recorded.length = 0;
    const { text } = await backtest(guess({ when: 'args.password.startsWith("h")' }));
    expect(linesOf(text)).toContainEqual(expect.objectContaining({ toolName: 'login' }));
    expect(recorded).toEqual([{ what: 'list', values: 'clear', since: '2020-01-01T00:00:00Z' }]);
    await backtest(guess({}));
    expect(recorded).toHaveLength(1);
  });
});
