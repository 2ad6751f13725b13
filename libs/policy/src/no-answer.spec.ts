import { celEngine } from '@countersign/cel';
import { describe, expect, it } from '@jest/globals';
import { createConditions } from './conditions.js';
import { budgetOfRequest } from './ruling.js';
import { loadPolicy } from './load-policy.js';
import { createPolicy } from './policy.js';
import type { Policy } from './policy.js';
import type { PolicyCall } from './policy-call.js';

const nowMs = Date.parse('2026-11-24T10:00:00.000Z');

const callWith = (amount: string): PolicyCall => ({
  ...{ agentId: 'a', runId: 'run', toolName: 'pay', arguments: { amount }, labels: {}, description: null },
  ...{ needsApproval: false, expiresInMs: null, allowedDecisions: null },
});

/** The rule of the expression, before one that says the opposite. */
const policyOf = (when: string, then: string, otherwise: string): Policy =>
  createPolicy(
    loadPolicy(
      'p.yaml',
      `version: 1\nrules:\n  - { id: tried, when: '${when}', then: ${then} }\n  - { id: other, then: ${otherwise} }\n`,
      celEngine,
    ),
  );

const outcomeOf = (policy: Policy, amount: string): string | undefined =>
  policy.judge([callWith(amount)], nowMs)[0]?.verdict.outcome;

const unreadable = [
  ...['1,000,000', '60 USD', '', 'ten', '0x3e8', '１０００', 'NaN'],
  ...['1_000', ' 5', '5 ', '5\n', '-', '.', '٣', '1e', '--5', '5f', '1,5', '€5'],
];
const require = '{ require: { quorum: { approve: 1 } } }';

describe('an amount that is no number', () => {
  it.each(unreadable)('is allowed by no rule: %j', (amount) => {
    for (const when of [
      'double(args.amount) <= 50.0',
      '!(double(args.amount) > 50.0)',
      'double(args.amount) > 50.0 ? false : true',
      '![args.amount].exists(x, double(x) > 50.0)',
      '[args.amount].filter(x, double(x) > 50.0).size() == 0',
      'double(args.amount) <= 50.0 && true',
      'false || !(double(args.amount) > 50.0)',
    ]) {
      expect([when, outcomeOf(policyOf(when, 'allow', require), amount)]).toEqual([when, 'require']);
    }
  });

  it.each(unreadable)('is asked about by a rule that requires approval, and by one that blocks: %j', (amount) => {
    const when = 'double(args.amount) > 50.0';
    expect(outcomeOf(policyOf(when, require, 'allow'), amount)).toBe('require');
    expect(outcomeOf(policyOf(when, '{ block: too much }', 'allow'), amount)).toBe('require');
  });

  const strict = '{ require: { quorum: { approve: 2, of: [security] }, risk: high, requireReason: [approve] } }';
  const judged = (then: string, otherwise: string) =>
    policyOf('double(args.amount) <= 50.0', then, otherwise).judge([callWith('ten')], nowMs)[0];

  it('needs the people of a strict rule too, where a light one before it has no answer', () => {
    const light = '{ require: { anyOf: [support], expiresIn: 5m } }';
    expect(judged(light, strict)).toMatchObject({
      verdict: { outcome: 'require', ruleId: 'tried' },
      requirement: {
        stages: [
          { approve: 1, groups: ['support'] },
          { approve: 2, groups: ['security'] },
        ],
        ...{ risk: 'high', requireReason: ['approve'], onTimeout: 'deny', expiresInMs: 300_000 },
      },
    });
  });

  it('asks no stage twice that another one implies', () => {
    expect(judged(require, strict)?.requirement.stages).toMatchObject([{ approve: 2, groups: ['security'] }]);
  });

  it('is denied by silence where a light rule before the strict one would have let silence approve', () => {
    const light = '{ require: { onTimeout: allow, allowOnTimeout: i-understand } }';
    expect(judged(light, strict)?.requirement).toMatchObject({ onTimeout: 'deny' });
    expect(judged(light, light)?.requirement).toMatchObject({ onTimeout: 'allow' });
  });

  it('is blocked where a rule that only asks has no answer, and the next one blocks', () => {
    expect(judged(require, '{ block: too much }')?.verdict).toMatchObject({ outcome: 'block', ruleId: 'other' });
  });

  it('says in the verdict why more people are asked', () => {
    expect(judged(require, strict)?.verdict.why).toContain('rule "other" counts too, because "tried" might not match');
  });

  it.each(unreadable)('is covered by no grant: %j', (amount) => {
    const { holds } = createConditions(celEngine);
    const isCovered = (when: string): boolean => holds(when, callWith(amount), nowMs, { left: budgetOfRequest });
    expect(isCovered('!(double(args.amount) > 50.0)')).toBe(false);
    expect(isCovered('double(args.amount) <= 50.0')).toBe(false);
  });
});
