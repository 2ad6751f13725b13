import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { createLegality, readStored } from '@countersign/audit';
import { story } from '@countersign/audit/testing';
import { celEngine } from '@countersign/cel';
import { actionDigest } from '@countersign/contracts';
import type { JsonObject } from '@countersign/contracts';
import { createPolicy, loadPolicy } from '@countersign/policy';
import type { Policy, PolicyCall } from '@countersign/policy';
import fc from 'fast-check';

type Verdict = ReturnType<Policy['judge']>[number];

/** What the audit finds about a call that this verdict was recorded with. */
function findingsOf(policy: Policy, call: PolicyCall, { verdict, requirement }: Verdict): readonly string[] {
  const { toolName, agentId, labels, needsApproval, arguments: args } = call;
  const salt = '000102030405060708090a0b0c0d0e0f';
  const identity = {
    tenant: 'default',
    runId: 'run',
    agentId,
    toolCallId: 'call',
    toolName,
    toolSchemaHash: null,
    salt,
  };
  const digest = actionDigest(identity, args);
  const told = story()
    .policy({ content: policy.content, policyVersion: policy.version })
    .request({ toolName, agentId, labels, needsApproval, arguments: args, salt, actionDigest: digest });
  const at = Date.parse('2026-11-27T12:00:00.000Z');
  const expiresAt = requirement.expiresInMs === 'never' ? null : new Date(at + requirement.expiresInMs).toISOString();
  const decided = {
    allow: () => told.allow({ verdict }),
    block: () => told.about('ToolCallBlocked', { verdict, reason: 'no', blockedAt: '2026-11-27T12:00:00.000Z' }),
    require: () => told.ask({ verdict, actionDigest: digest, expiresAt }, requirement),
  }[verdict.outcome]();
  const legality = createLegality(new Map());
  return decided.events.flatMap((stored) => {
    const event = readStored(stored);
    return 'unreadable' in event ? [event.unreadable] : legality.judge(event).illegal.map(({ detail }) => detail);
  });
}

const judged = (policy: Policy, call: PolicyCall): Verdict => {
  const [verdict] = policy.judge([call], Date.parse('2026-11-27T12:00:00.000Z'));
  if (verdict === undefined) throw new Error('a policy judges every call');
  return verdict;
};

const duration = fc.constantFrom('30s', '10m', '2h', '3d', 'never');
const level = fc.constantFrom('low', 'medium');
const groups = fc.uniqueArray(fc.constantFrom('ops', 'dev', 'boss'), { minLength: 1 });
const decisions = fc.uniqueArray(fc.constantFrom('approve', 'edit', 'deny', 'answer'), { minLength: 1 });
const stage = fc.oneof(
  fc.record({
    quorum: fc.record(
      { approve: fc.integer({ min: 1, max: 3 }), deny: fc.constant(2), of: groups },
      { requiredKeys: ['approve'] },
    ),
  }),
  fc.record({ anyOf: groups }),
  fc.record({ allOf: groups }),
);
const end = fc.constantFrom<JsonObject>(
  {},
  { onTimeout: 'hold' },
  { onTimeout: 'allow', allowOnTimeout: 'i-understand' },
  { onTimeout: 'escalate', escalation: [{ to: ['boss'], expiresIn: '1h' }] },
);
const businessHours = fc.constantFrom(
  { zone: 'UTC', days: ['mon'], from: '08:00', to: '18:00' },
  { zone: 'UTC', days: ['mon', 'tue'], from: '08:00', to: '24:00' },
);
const requires = fc
  .tuple(
    fc.oneof(fc.constant({}), stage, fc.record({ stages: fc.array(stage, { minLength: 1, maxLength: 3 }) })),
    end,
    fc.record(
      {
        ...{ expiresIn: duration, executeBy: duration, risk: level, minAssurance: level, fourEyes: fc.boolean() },
        ...{ requireReason: decisions, allowedDecisions: decisions, denyEndsRun: fc.boolean() },
        ...{
          batch: fc.constantFrom('independent', 'all-or-nothing', 'any-asks-all'),
          reminders: fc.constant(['10s']),
          businessHours,
        },
      },
      { requiredKeys: [] },
    ),
  )
  .map((parts) => ({ require: Object.assign({}, ...parts) as JsonObject }));
const when = fc.constantFrom('args.amount > 50', 'args.missing == 1', 'args.amount >= 0', 'args.amount < 0');
const rule = fc.record(
  {
    match: fc.record(
      {
        tools: fc.uniqueArray(fc.constantFrom('pay', 'p*', '*y', '??y', 'mail'), { minLength: 1 }),
        agents: fc.constantFrom(['agent'], ['a*t', 'x'], ['b*']),
        labels: fc.constantFrom({ env: 'prod' }, { env: '*' }, { team: 'x' }),
      },
      { requiredKeys: [] },
    ),
    when,
    then: fc.oneof(fc.constant('allow'), fc.constant({ block: 'no' }), requires),
  },
  { requiredKeys: ['then'] },
);
const file = fc
  .record(
    {
      rules: fc.array(rule, { maxLength: 5 }),
      default: fc.constantFrom('require', 'allow'),
      requireApprovalTools: fc.constantFrom(['mail'], ['p*']),
      defaults: fc.record(
        {
          expiresIn: duration,
          executeBy: duration,
          onTimeout: fc.constantFrom('deny', 'hold'),
          allowedDecisions: decisions,
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ['rules'] },
  )
  .map(({ rules, ...more }) => ({
    ...{ version: 1, approvers: [{ id: 'alice', groups: ['ops', 'dev', 'boss'] }] },
    rules: rules.map((one, index) => ({ id: `rule-${String(index)}`, ...one })),
    ...more,
  }));
const call: fc.Arbitrary<PolicyCall> = fc.record({
  ...{ agentId: fc.constantFrom('agent', 'bot'), runId: fc.constant('run'), toolName: fc.constantFrom('pay', 'mail') },
  arguments: fc.integer({ min: 0, max: 100 }).map((amount) => ({ amount })),
  ...{ labels: fc.constantFrom({}, { env: 'prod' }), description: fc.constant(null), needsApproval: fc.boolean() },
  expiresInMs: fc.constantFrom(null, 60_000, 86_400_000, 'never' as const),
  allowedDecisions: fc.constantFrom(null, ['approve' as const], ['answer' as const, 'deny' as const]),
});

/** Undefined: the rules of the file contradict each other, so that no process starts with it. */
function policyOf(content: object): Policy | undefined {
  try {
    return createPolicy(loadPolicy('p.json', JSON.stringify(content), celEngine));
  } catch {
    return undefined;
  }
}

describe('the verdict of a policy', () => {
  it('is one that the audit finds in the text of the policy, and with another outcome it is not', () => {
    let loaded = 0;
    fc.assert(
      fc.property(file, call, (content, asked) => {
        const policy = policyOf(content);
        if (policy === undefined) return;
        loaded += 1;
        const honest = judged(policy, asked);
        expect(findingsOf(policy, asked, honest)).toEqual([]);
        const { verdict } = honest;
        const outcome = verdict.outcome === 'allow' ? 'block' : 'allow';
        const lie = { ...honest, verdict: { ...verdict, outcome, automatic: true } as const };
        expect(findingsOf(policy, asked, lie)).not.toEqual([]);
      }),
      { numRuns: 200 },
    );
    expect(loaded).toBeGreaterThan(100);
  });

  const folder = join(import.meta.dirname, '../../examples/policies');
  const names = readdirSync(folder).filter((name) => name.endsWith('.yaml') && !name.endsWith('.cases.yaml'));

  it.each(names)('of %s is one that the audit finds in its text', (name) => {
    const policy = createPolicy(loadPolicy(name, readFileSync(join(folder, name), 'utf8'), celEngine));
    const tools = ['get_x', 'delete_x', 'refund_order', 'execute_sql', 'deploy_app', 'payout', 'transfer', 'search'];
    for (const toolName of [...tools, 'send_report', 'rotate_keys', 'restart_server', 'send_newsletter', 'other']) {
      for (const amount of [1, 100, 5000]) {
        const args = { amount, statement: 'drop table x' };
        const facts = { agentId: 'billing-agent', runId: 'run', labels: { env: 'prod' }, description: null };
        const asked = { ...facts, toolName, arguments: args, needsApproval: false, expiresInMs: null };
        const one = { ...asked, allowedDecisions: null };
        expect(findingsOf(policy, one, judged(policy, one))).toEqual([]);
      }
    }
  });
});
