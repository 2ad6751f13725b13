import { celEngine } from '@countersign/cel';
import { createConditions } from './conditions.js';
import { inspect } from './ruling.js';
import { loadPolicy } from './load-policy.js';
import { createPolicy } from './policy.js';
import type { PolicyCall } from './policy-call.js';
import type { Policy } from './policy.js';
import type { Judgement } from './ruling.js';

const nowMs = Date.parse('2026-11-24T10:00:00.000Z');

const call = (overrides: Partial<PolicyCall> = {}): PolicyCall => ({
  agentId: 'billing-1',
  runId: 'run',
  toolName: 'refund_order',
  arguments: { amount: 60 },
  labels: { env: 'prod' },
  description: null,
  needsApproval: false,
  expiresInMs: null,
  allowedDecisions: null,
  ...overrides,
});

function policy(yaml: string): Policy {
  return createPolicy(loadPolicy('p.yaml', `version: 1\n${yaml}`, celEngine));
}

function judge(of: Policy, overrides: Partial<PolicyCall> = {}): Judgement {
  const [judgement] = of.judge([call(overrides)], nowMs);
  if (judgement === undefined) throw new Error('no judgement');
  return judgement;
}

const rules = policy(`
rules:
  - id: no-drop
    match: { tools: [execute_sql] }
    when: 'args.statement.lowerAscii().contains("drop table")'
    then: { block: "Tables are never dropped by an agent" }
  - id: small-refunds
    match: { tools: [refund_order] }
    when: args.amount <= 50
    then: allow
  - id: refunds
    match: { tools: [refund_order], agents: ["billing-*"], labels: { env: prod } }
    then:
      require:
        stages:
          - { quorum: { approve: 2, deny: 1, of: [ops, security] } }
          - { anyOf: [security] }
        expiresIn: 30m
        onTimeout: escalate
        escalation: [{ to: [managers], expiresIn: 20m }]
        reminders: [10m, 20m]
        executeBy: 15m
        requireReason: [deny, edit]
        minAssurance: medium
        risk: high
`);

describe('the rules of a policy', () => {
  it('block, with the reason in the verdict', () => {
    const { verdict } = judge(rules, { toolName: 'execute_sql', arguments: { statement: 'DROP TABLE users' } });
    expect(verdict).toMatchObject({ outcome: 'block', ruleId: 'no-drop', automatic: true });
    expect(verdict.why.at(-1)).toBe('Tables are never dropped by an agent');
  });

  it('allow what the expression says, and cite its cost and the library', () => {
    expect(judge(rules, { arguments: { amount: 50 } }).verdict).toEqual({
      outcome: 'allow',
      ruleId: 'small-refunds',
      policyVersion: rules.version,
      automatic: true,
      why: [
        'rule "small-refunds": the tool matches "refund_order"; its expression is true (cost 1)',
        `expressions: ${celEngine.version}`,
      ],
    });
  });

  it('require people as the rule has it, with the defaults for the rest', () => {
    expect(judge(rules)).toMatchObject({
      verdict: { outcome: 'require', ruleId: 'refunds', automatic: false },
      requirement: {
        stages: [
          { mode: 'quorum', approve: 2, deny: 1, groups: ['ops', 'security'] },
          { mode: 'quorum', approve: 1, deny: 1, groups: ['security'] },
        ],
        fourEyes: true,
        allowedDecisions: ['approve', 'edit', 'deny', 'answer'],
        requireReason: ['deny', 'edit'],
        minAssurance: 'medium',
        risk: 'high',
        expiresInMs: 1_800_000,
        executeByMs: 900_000,
        onTimeout: 'escalate',
        escalation: [{ to: ['managers'], expiresInMs: 1_200_000 }],
        remindersMs: [600_000, 1_200_000],
      },
    });
  });

  it.each([
    ['another agent', { agentId: 'support-1' }],
    ['another label', { labels: { env: 'test' } }],
    ['no label', { labels: {} }],
    ['a label that objects inherit', { labels: { constructor: 'prod' } }],
    ['another tool', { toolName: 'refund' }],
  ])('do not match %s', (_, overrides) => {
    expect(judge(rules, overrides).verdict.ruleId).toBe('default');
  });

  it('are tried from top to bottom, and the first match wins', () => {
    const both = policy('rules: [{ id: a, then: allow }, { id: b, then: { block: never } }]');
    expect(judge(both).verdict).toMatchObject({
      outcome: 'allow',
      ruleId: 'a',
      why: ['rule "a": it matches every call'],
    });
  });

  it('give the same verdict for a tool name again, after hundreds of others', () => {
    const first = judge(rules, { arguments: { amount: 50 } });
    for (let name = 0; name < 500; name += 1) {
      expect(judge(rules, { toolName: `tool_${String(name)}` }).verdict.ruleId).toBe('default');
    }
    expect(judge(rules, { arguments: { amount: 50 } })).toEqual(first);
  });

  it('come before the lists and the default', () => {
    const listed = policy(
      'requireApprovalTools: ["refund_*"]\nrules: [{ id: a, match: { tools: ["*"] }, then: allow }]',
    );
    expect(judge(listed).verdict.ruleId).toBe('a');
  });

  it.each([
    ['{ anyOf: [ops] }', { mode: 'quorum', approve: 1, deny: 1, groups: ['ops'] }],
    ['{ allOf: [ops, security, ops] }', { mode: 'all-of', approve: 2, deny: 1, groups: ['ops', 'security'] }],
    ['{ quorum: { approve: 2, deny: 2 } }', { mode: 'quorum', approve: 2, deny: 2, groups: null }],
    ['{}', { mode: 'quorum', approve: 1, deny: 1, groups: null }],
  ])('may name a single stage without "stages": %s', (written, stage) => {
    const one = policy(`rules: [{ id: a, then: { require: ${written} } }]`);
    expect(judge(one).requirement.stages).toEqual([stage]);
  });

  it('let a worker ask for more, and never for less', () => {
    const small = { arguments: { amount: 1 } };
    expect(judge(rules, { ...small, needsApproval: true }).verdict).toMatchObject({
      outcome: 'require',
      ruleId: 'needsApproval',
    });
    expect(judge(rules, { needsApproval: true }).verdict.ruleId).toBe('refunds');
  });

  it('let a request shorten the deadline, and never lengthen it', () => {
    const denying = policy('rules: [{ id: r, match: { tools: ["*"] }, then: { require: { expiresIn: 30m } } }]');
    expect(judge(denying, { expiresInMs: 1000 }).requirement.expiresInMs).toBe(1000);
    expect(judge(denying, { expiresInMs: 'never' }).requirement.expiresInMs).toBe(1_800_000);
  });

  it('let no request bring nearer the escalation that asks other people, or the end of a hold', () => {
    expect(judge(rules, { expiresInMs: 1000 }).requirement.expiresInMs).toBe(1_800_000);
    const holding = policy(
      'rules: [{ id: r, match: { tools: ["*"] }, then: { require: { expiresIn: 30m, onTimeout: hold } } }]',
    );
    expect(judge(holding, { expiresInMs: 1000 }).requirement.expiresInMs).toBe(1_800_000);
  });

  it('let no request bring nearer the silence that approves', () => {
    const silent = policy(
      'rules: [{ id: a, then: { require: { onTimeout: allow, allowOnTimeout: i-understand, expiresIn: 1h } } }]',
    );
    expect(judge(silent, { expiresInMs: 1000 }).requirement).toMatchObject({
      onTimeout: 'allow',
      expiresInMs: 3_600_000,
    });
  });

  it('see the time and the facts of the call', () => {
    const timed = policy(
      `rules: [{ id: a, when: 'now.getHours() == 10 && call.runId == "run" && call.description == "why"', then: allow }]\n` +
        'default: require',
    );
    expect(judge(timed, { description: 'why' }).verdict.ruleId).toBe('a');
    expect(judge(timed).verdict.ruleId).toBe('default');
  });
});

describe('an expression that has no answer', () => {
  const failing = 'args.missing > 1';
  const failed = 'its expression has no answer: it reads a field that the call does not have (cost 0)';

  it('does not allow', () => {
    const one = policy(`default: require\nrules: [{ id: a, when: '${failing}', then: allow }]`);
    expect(judge(one).verdict).toMatchObject({ outcome: 'require', ruleId: 'default' });
    expect(judge(one).verdict.why[0]).toBe(`rule "a": ${failed}`);
  });

  it('requires', () => {
    const one = policy(`rules: [{ id: a, when: '${failing}', then: { require: { anyOf: [ops] } } }]`);
    expect(judge(one)).toMatchObject({
      verdict: { outcome: 'require', ruleId: 'a', why: [`rule "a": ${failed}`, `expressions: ${celEngine.version}`] },
      requirement: { stages: [{ groups: ['ops'] }] },
    });
  });

  it.each([
    ['no later rule matches', ''],
    ['a later rule allows', ', { id: b, then: allow }'],
  ])('of a block means that a person decides: %s', (_, later) => {
    const one = policy(`rules: [{ id: a, when: '${failing}', then: { block: never } }${later}]`);
    expect(judge(one).verdict).toMatchObject({ outcome: 'require', ruleId: 'a', automatic: false });
  });

  it('of a block gives way to a later rule that is stricter than an allow', () => {
    const one = policy(
      `rules: [{ id: a, when: '${failing}', then: { block: never } }, { id: b, then: { require: { anyOf: [ops] } } }]`,
    );
    expect(judge(one)).toMatchObject({ verdict: { ruleId: 'b' }, requirement: { stages: [{ groups: ['ops'] }] } });
  });

  it.each([
    ['allow', 'deny'],
    ['hold', 'hold'],
    ['deny', 'deny'],
  ])('of a block keeps silence from approving: onTimeout %s is %s', (written, onTimeout) => {
    const consent = written === 'allow' ? ', allowOnTimeout: i-understand' : '';
    const later = `{ id: b, then: { require: { onTimeout: ${written}${consent} } } }`;
    const one = policy(`rules: [{ id: a, when: '${failing}', then: { block: never } }, ${later}]`);
    const { requirement, verdict } = judge(one);
    expect(requirement.onTimeout).toBe(onTimeout);
    expect(verdict.why.includes('no answer in time means denied, because "a" might block the call')).toBe(
      written === 'allow',
    );
  });

  it("quotes no argument in the verdict, and the author sees the library's words", () => {
    const one = policy(`rules: [{ id: a, when: 'int(args.secret) == 1', then: { require: {} } }]`);
    const secret = { arguments: { secret: 'hunter2' } };
    expect(JSON.stringify(judge(one, secret))).not.toContain('hunter2');
    expect(one.explain(call(secret), nowMs).rules[0]).toMatchObject({
      status: 'failed',
      detail: expect.any(String) as string,
    });
  });

  it('is noted for ten rules, and counted for the others', () => {
    const many = Array.from({ length: 30 }, (_, n) => `{ id: r${String(n)}, when: args.missing > 1, then: allow }`);
    const { why } = judge(policy(`rules: [${many.join(', ')}]`)).verdict;
    expect(why).toHaveLength(13);
    expect(why[9]).toBe(`rule "r9": ${failed}`);
    expect(why[10]).toBe('20 more rules have no answer');
  });

  it.each(['rule', 'condition of a grant'])('takes work from the budget although it costs nothing: a %s', (of) => {
    const budget = { left: 2 };
    const source = 'args.missing == 1';
    const inputs = { args: {}, call: {}, nowMs };
    const [rule] = loadPolicy(
      'p.yaml',
      `{ version: 1, rules: [{ id: a, when: '${source}', then: allow }] }`,
      celEngine,
    ).rules;
    const evaluate = () => {
      if (of === 'rule' && rule !== undefined) inspect(rule, { call: call(), inputs, budget });
      else createConditions(celEngine).holds(source, call(), nowMs, budget);
    };
    evaluate();
    expect(budget.left).toBe(1);
    evaluate();
    expect(budget.left).toBe(0);
  });

  it('is what thousands of costly rules become, so that a call is judged in time', () => {
    const costly = `args.all(key, args.all(other, key != other || true)) && false`;
    const many = Array.from({ length: 500 }, (_, n) => `  - { id: r${String(n)}, when: '${costly}', then: allow }`);
    const one = policy(`rules:\n${many.join('\n')}`);
    const wide = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`k${String(n)}`, n]));
    expect(one.explain(call({ arguments: wide }), nowMs).rules.at(-1)).toMatchObject({
      status: 'failed',
      why: 'the expressions of the policy cost too much together',
    });
    expect(judge(one, { arguments: wide }).verdict.why).toContain('479 more rules have no answer');
  });
});

describe('an explanation', () => {
  it('has what every rule says, those after the first match too', () => {
    const { judgement, rules: found } = rules.explain(call(), nowMs);
    expect(judgement).toEqual(judge(rules));
    expect(found).toEqual([
      { ruleId: 'no-drop', status: 'not-matched', decides: false, why: 'the tool does not match "execute_sql"' },
      {
        ruleId: 'small-refunds',
        decides: false,
        status: 'not-matched',
        cost: 1,
        why: 'the tool matches "refund_order"; its expression is false (cost 1)',
      },
      {
        ruleId: 'refunds',
        decides: true,
        status: 'matched',
        why: 'the tool matches "refund_order"; the agent matches "billing-*"; the label "env" matches "prod"',
      },
    ]);
  });

  it('counts a require whose expression has no answer as the one that decides', () => {
    const one = policy(`rules: [{ id: a, when: 'args.x == 1', then: { require: {} } }]`);
    expect(one.explain(call(), nowMs).rules).toMatchObject([{ status: 'failed', decides: true }]);
  });
});

describe('business hours', () => {
  const written = (days: string) => `{ zone: Europe/Paris, days: [${days}], from: "08:00", to: "18:00" }`;
  const hours = { zone: 'Europe/Paris', days: ['mon'], from: '08:00', to: '18:00' };
  const of = (text: string) => judge(policy(text)).requirement.businessHours;

  it('are those of the rule, then those of the defaults, else none', () => {
    const always = `rules: [{ id: a, then: { require: {} } }]`;
    expect(of(`defaults: { businessHours: ${written('mon')} }\n${always}`)).toEqual(hours);
    expect(of(`rules: [{ id: a, then: { require: { businessHours: ${written('mon')} } } }]`)).toEqual(hours);
    const both = `rules: [{ id: a, then: { require: { businessHours: ${written('mon')} } } }]`;
    expect(of(`defaults: { businessHours: ${written('sun')} }\n${both}`)).toEqual(hours);
    expect(judge(policy(always)).requirement).not.toHaveProperty('businessHours');
  });

  it('set the expiry, which a request can then only shorten', () => {
    const of = policy(`rules: [{ id: a, then: { require: { businessHours: ${written('mon')} } } }]`);
    const expiry = (expiresInMs: number | 'never') => judge(of, { expiresInMs }).requirement.expiresInMs;
    expect([expiry('never'), expiry(7_200_000), expiry(60_000)]).toEqual([3_600_000, 3_600_000, 60_000]);
  });

  it('count for a call that the worker flags as well', () => {
    const of = policy(`defaults: { businessHours: ${written('mon')} }`);
    expect(judge(of, { needsApproval: true }).requirement.businessHours).toEqual(hours);
  });
});

describe('an expression over the run and the hints', () => {
  const ofRun = policy(`
rules:
  - { id: long, when: 'run.calls >= 20 || run.denied > 2 || now - run.startedAt > duration("1h")', then: { block: enough } }
  - { id: rest, then: allow }`);
  const run = { calls: 3, denied: 0, startedAt: '2026-11-24T09:30:00.000Z' };
  const ruleOf = (change: Partial<typeof run>) => judge(ofRun, { run: { ...run, ...change } }).verdict.ruleId;

  it('sees the calls, the denials and the start of the run', () => {
    expect([ruleOf({}), ruleOf({ calls: 20 }), ruleOf({ denied: 3 })]).toEqual(['rest', 'long', 'long']);
    expect(ruleOf({ startedAt: '2026-11-24T08:30:00.000Z' })).toBe('long');
  });

  it('a run without calls begins now', () => {
    expect(judge(ofRun, { run: { calls: 0, denied: 0, startedAt: null } }).verdict.ruleId).toBe('rest');
  });

  it('records the facts about the run in the verdict', () => {
    const seen = 'the run: calls 3, denied 0, started 2026-11-24T09:30:00.000Z';
    expect(judge(ofRun, { run }).verdict.why).toContain(seen);
    expect(judge(rules, { run }).verdict.why).not.toContain(seen);
  });

  it('has no answer where the run is not known, so a person decides', () => {
    const { verdict } = judge(ofRun);
    expect(verdict).toMatchObject({ outcome: 'require', ruleId: 'long' });
    expect(verdict.why).toContain('the run is not known');
  });

  it('is known to look at the run only where it does', () => {
    expect([ofRun.usesRun, rules.usesRun]).toEqual([true, false]);
  });

  it('sees the hints, and none where the agent sent none', () => {
    const of = policy(`
rules:
  - { id: safe, when: 'has(call.hints.readOnlyHint) && call.hints.readOnlyHint', then: allow }
  - { id: rest, then: { require: {} } }`);
    const ruled = (hints?: PolicyCall['hints']) => judge(of, hints === undefined ? {} : { hints }).verdict.ruleId;
    expect([ruled({ readOnlyHint: true }), ruled({ readOnlyHint: false }), ruled({}), ruled()]).toEqual([
      ...['safe', 'rest', 'rest', 'rest'],
    ]);
  });
});
