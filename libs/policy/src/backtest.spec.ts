import { celEngine } from '@countersign/cel';
import type { JsonObject, Verdict } from '@countersign/contracts';
import { createBacktest } from './backtest.js';
import type { JudgedCall } from './backtest.js';
import { loadPolicy } from './load-policy.js';
import { createPolicy } from './policy.js';

const policyOf = (yaml: string) => createPolicy(loadPolicy('p.yaml', `version: 1\n${yaml}`, celEngine));
const live = policyOf('requireApprovalTools: [refund]');

/** A call as the live policy judged it. */
function judged(
  callId: string,
  toolName: string,
  args: JsonObject,
  requestedAt = '2026-11-24T10:00:00.000Z',
): JudgedCall {
  const call = {
    agentId: 'a',
    runId: 'r',
    toolName,
    arguments: args,
    labels: {},
    description: null,
    needsApproval: false,
  };
  const asked = { ...call, expiresInMs: null, allowedDecisions: null };
  const { verdict, requirement } = live.explain(asked, 0).judgement;
  const request = { callId, requestedAt, ...call } as unknown as JudgedCall['request'];
  return { request, verdict, requirement: verdict.outcome === 'require' ? requirement : null };
}

describe('a back-test', () => {
  it('finds the calls that change, counts them by the rule that judges them now, and lists rules without a call', () => {
    const candidate = policyOf(`
rules:
  - { id: small, match: { tools: [refund] }, when: args.amount <= 50, then: allow }
  - { id: large, match: { tools: [refund] }, then: { require: { quorum: { approve: 2 } } } }
  - { id: deploys, match: { tools: [deploy] }, then: { block: never } }`);
    const test = createBacktest(candidate, ['small', 'large', 'deploys']);
    expect(test.add(judged('1', 'refund', { amount: 5 }))).toMatchObject({
      callId: '1',
      before: { outcome: 'require', ruleId: 'requireApprovalTools' },
      after: { outcome: 'allow', ruleId: 'small' },
      differs: ['outcome'],
    });
    expect(test.add(judged('2', 'refund', { amount: 500 }))).toMatchObject({ differs: ['stages'] });
    expect(test.add(judged('3', 'search', {}))).toBeUndefined();
    expect(test.summary()).toEqual({
      calls: 3,
      changed: 2,
      policyVersion: candidate.version,
      rules: [
        { ruleId: 'small', calls: 1, changed: 1 },
        { ruleId: 'large', calls: 1, changed: 1 },
        { ruleId: 'deploys', calls: 0, changed: 0 },
        { ruleId: 'default', calls: 1, changed: 0 },
      ],
    });
  });

  it('leaves a call that the code of the agent denied as it is', () => {
    const { verdict, ...call } = judged('1', 'search', {});
    const denied: JudgedCall['verdict'] = {
      ...verdict,
      outcome: 'block',
      ruleId: 'deniedInCode',
      why: ['not this one'],
    };
    const test = createBacktest(policyOf('default: allow'), []);
    expect(test.add({ ...call, verdict: denied })).toBeUndefined();
    expect(test.summary()).toMatchObject({ calls: 1, changed: 0 });
  });

  it('finds nothing when the candidate is the policy itself', () => {
    const test = createBacktest(live, []);
    expect(test.add(judged('1', 'refund', {}))).toBeUndefined();
    expect(test.add(judged('2', 'search', {}))).toBeUndefined();
    expect(test.summary()).toMatchObject({ calls: 2, changed: 0 });
  });

  it('judges a call at the time of its request', () => {
    const test = createBacktest(
      policyOf(`rules: [{ id: night, when: now.getHours() < 6, then: { block: night } }]`),
      [],
    );
    const changed = (at: string): Verdict['outcome'] | undefined =>
      test.add(judged('1', 'search', {}, at))?.after.outcome;
    expect(changed('2026-11-24T03:00:00.000Z')).toBe('block');
    expect(changed('2026-11-24T10:00:00.000Z')).toBeUndefined();
  });
});
