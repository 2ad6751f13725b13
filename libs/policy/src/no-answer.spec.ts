import { celEngine } from '@countersign/cel';
import { describe, expect, it } from '@jest/globals';
import { createConditions } from './conditions.js';
import { budgetOfRequest } from './inspect.js';
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

const unreadable = ['1,000,000', '60 USD', '', 'ten', '0x3e8', '１０００', 'NaN'];
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

  it.each(unreadable)('is covered by no grant: %j', (amount) => {
    const { holds } = createConditions(celEngine);
    const isCovered = (when: string): boolean => holds(when, callWith(amount), nowMs, { left: budgetOfRequest });
    expect(isCovered('!(double(args.amount) > 50.0)')).toBe(false);
    expect(isCovered('double(args.amount) <= 50.0')).toBe(false);
  });
});
