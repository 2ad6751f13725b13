import { describe, expect, it } from '@jest/globals';
import { decideStep } from './step.decider.js';
import type { StepCall } from './step.facts.js';
import { requirement, stage, verdict } from './testing/fixtures.js';
import {
  acceptedCalls,
  allowedCall,
  asQuestions,
  call,
  grantFacts,
  outcomesOf,
  recorded,
  step,
} from './testing/step-fixtures.js';
import { before, quotas } from './testing/quota-fixtures.js';

const all = { batchMode: 'all-or-nothing' } as const;
const judged = {
  verdict: { ...verdict(), ruleId: 'pay' },
  requirement: requirement({ batch: 'all-or-nothing' }),
};
/** A call whose rule makes the step all-or-nothing. */
const paying = (toolCallId: string, change: Parameters<typeof call>[1] = {}) => call(toolCallId, { judged, ...change });

const batchesOf = (...calls: readonly StepCall[]) =>
  acceptedCalls(step(calls)).map((one) => {
    if (one === null) return null;
    const { batchMode, batchCallIds, batchRuleId } = one.command.call;
    return { batchMode, batchCallIds, ...(batchRuleId !== undefined && { batchRuleId }) };
  });

describe('a rule that makes the step all-or-nothing', () => {
  const batch = { ...all, batchCallIds: ['id-of-a', 'id-of-b'], batchRuleId: 'pay' };

  it('binds the calls of the step that it does not match as well, and is recorded with them', () => {
    expect(batchesOf(allowedCall('a'), paying('b'))).toEqual([batch, batch]);
  });

  it('leaves a step of one call and a step without such a rule as they are', () => {
    const independent = { batchMode: 'independent', batchCallIds: [] };
    expect(batchesOf(paying('a'))).toEqual([independent]);
    const mail = { verdict: verdict(), requirement: requirement() };
    expect(batchesOf(allowedCall('a'), call('b', { judged: mail }))).toEqual([independent, independent]);
    const notAsked = { ...judged, verdict: verdict('allow') };
    expect(batchesOf(allowedCall('a'), call('b', { judged: notAsked }))).toEqual([independent, independent]);
  });

  it('never weakens or renames a batch that the agent made all-or-nothing', () => {
    const of = { ...all, batchCallIds: ['id-of-a', 'id-of-b'] };
    expect(batchesOf(allowedCall('a', { of }), paying('b', { of }))).toEqual([of, of]);
  });

  it('completes the batch of a step that was recorded in part, under other rules too', () => {
    const asked = call('a', { of: { ...all, batchRuleId: 'pay', batchCallIds: ['id-of-a', 'id-of-b'] } });
    const begun = allowedCall('a', { state: recorded(asked) });
    expect(batchesOf(begun, allowedCall('b'))).toEqual([null, batch]);
  });

  it('binds the new calls of a step, and no call that was recorded before', () => {
    const old = allowedCall('a', { state: recorded(call('a')) });
    const joined = { ...all, batchCallIds: ['id-of-b', 'id-of-c'], batchRuleId: 'pay' };
    expect(batchesOf(old, allowedCall('b'), paying('c'))).toEqual([null, joined, joined]);
  });

  it('adds nothing to a repeat of calls that were recorded as independent, nor under other rules', () => {
    const old = ['a', 'b'].map((one) => recorded(call(one)));
    expect(batchesOf(allowedCall('a', { state: old[0]! }), paying('b', { state: old[1]! }))).toEqual([null, null]);
    const bound = recorded(call('a', { of: { ...all, batchRuleId: 'pay', batchCallIds: ['id-of-a', 'id-of-b'] } }));
    expect(batchesOf(allowedCall('a', { state: bound }))).toEqual([null]);
  });

  it('refuses a step of more calls than such a batch may have', () => {
    const four = ['a', 'b', 'c', 'd'].map((one) => paying(one));
    expect(batchesOf(...four)).toHaveLength(4);
    expect(outcomesOf(step([...four, allowedCall('e')]))).toBe('invalid-request');
  });
});

describe('a rule that asks about the whole step', () => {
  const rule = requirement({ batch: 'any-asks-all', executeByMs: 1_000 });
  const asksAll = { verdict: { ...verdict(), ruleId: 'wire' }, requirement: rule };
  const gated = (toolCallId: string, change: Parameters<typeof call>[1] = {}) =>
    call(toolCallId, { judged: asksAll, ...change });
  const judgedOf = (...calls: readonly StepCall[]) =>
    acceptedCalls(step(calls)).map((one) => one?.command.judgement ?? null);
  const rulesOf = (...calls: readonly StepCall[]) =>
    judgedOf(...calls).map((one) => one && [one.outcome, one.verdict.ruleId, one.verdict.why.length]);

  it('asks about the calls that would be allowed, under the same requirement, and says why', () => {
    const [first, second] = judgedOf(allowedCall('a'), gated('b'));
    expect(first).toMatchObject({
      ...{ outcome: 'require', requirement: rule },
      verdict: { outcome: 'require', automatic: false, ruleId: 'wire' },
    });
    expect(first?.verdict.why.at(-1)).toBe('it waits, because "wire" asks about another call of the step');
    expect(second).toMatchObject({ outcome: 'require', verdict: asksAll.verdict, requirement: rule });
  });

  it('binds the calls of the step together', () => {
    const batch = { ...all, batchCallIds: ['id-of-a', 'id-of-b'], batchRuleId: 'wire' };
    expect(batchesOf(allowedCall('a'), gated('b'))).toEqual([batch, batch]);
  });

  it.each(['strong first', 'strong last'])('asks by all such rules, whatever the order of the calls: %s', (order) => {
    const security = stage({ groups: ['security'] });
    const strong = requirement({ batch: 'any-asks-all', stages: [security] });
    const other = call('c', { judged: { verdict: { ...verdict(), ruleId: 'strong' }, requirement: strong } });
    const calls = order === 'strong first' ? [other, gated('b')] : [gated('b'), other];
    expect(judgedOf(...calls, allowedCall('a')).at(-1)).toMatchObject({
      requirement: { stages: order === 'strong first' ? [security, stage()] : [stage(), security] },
    });
  });

  it('asks by the rule where only the worker wants people asked: its own question is not as strict', () => {
    const own = { verdict: { ...verdict(), ruleId: 'needsApproval' }, requirement: requirement() };
    expect(judgedOf(call('a', { judged: own }), gated('b'))[0]).toMatchObject({
      verdict: { ruleId: 'wire' },
      requirement: { batch: 'any-asks-all', stages: [stage(), stage()] },
    });
  });

  it('leaves a blocked call blocked, and a call of another rule with its own requirement', () => {
    const block = { verdict: verdict('block'), requirement: requirement() };
    const other = { verdict: verdict(), requirement: requirement({ risk: 'high' }) };
    const [blocked, own] = judgedOf(call('a', { judged: block }), call('b', { judged: other }), gated('c'));
    expect([blocked?.outcome, own?.verdict]).toEqual(['block', verdict()]);
    expect(own).toMatchObject({ requirement: { risk: 'high' } });
  });

  it('asks about no call where a grant covers the one that it would ask about', () => {
    const grants = [grantFacts()];
    expect(rulesOf(allowedCall('a'), gated('b', { grants })).map((one) => one?.[0])).toEqual(['allow', 'allow']);
  });

  it('asks about a call that only a grant allows, by its own rule, and takes no use of the grant', () => {
    const decided = acceptedCalls(step([call('a', { grants: [grantFacts()] }), gated('b')]));
    expect(decided.map((one) => [one?.command.judgement.outcome, one?.use])).toEqual([
      ['require', null],
      ['require', null],
    ]);
    expect(decided[0]?.command.judgement.verdict.ruleId).toBe(verdict().ruleId);
  });

  it('asks about no call that was recorded before, and about none for a repeat of another step', () => {
    expect(rulesOf(allowedCall('a', { state: recorded(call('a')) }), gated('b'))[0]).toBeNull();
    const elsewhere = gated('b', { state: recorded(gated('b')) });
    expect(rulesOf(allowedCall('a'), elsewhere)[0]?.[0]).toBe('allow');
  });

  it('completes the step that was recorded in part', () => {
    const of = { ...all, batchRuleId: 'wire', batchCallIds: ['id-of-a', 'id-of-b'] };
    const begun = gated('b', { state: recorded(call('b', { of })) });
    expect(rulesOf(allowedCall('a'), begun)).toEqual([['require', 'wire', verdict('allow').why.length + 1], null]);
  });

  it('refuses a step in which nobody may answer about a call that waits', () => {
    const named = { onBehalfOf: 'alice' };
    const approvers = [{ names: ['alice'], groups: [] }];
    const facts = step([allowedCall('a', { of: named }), gated('b')], { approvers });
    expect(outcomesOf(facts)).toBe('no-approver-left');
  });

  it('counts every call of the step as a question', () => {
    const calls = [allowedCall('a'), gated('b')];
    const one = { ...quotas({ pendingPerAgent: 1 }, before({ pending: 0 })), questions: asQuestions(calls) };
    expect(outcomesOf(step(calls, { quotas: one }))).toBe('too-many-requests');
  });
});

describe('a batch that the agent made all-or-nothing', () => {
  const of = { ...all, batchId: 'pay-all', batchCallIds: ['id-of-a', 'id-of-b'] };
  const named = ['a', 'b'].map((one) => allowedCall(one, { of }));

  it('is refused when other calls are recorded in it', () => {
    expect(outcomesOf(step(named, { inBatch: [] }))).toEqual(['allow', 'allow']);
    expect(decideStep(step(named, { inBatch: ['id-of-c'] }))).toMatchObject({
      refusal: {
        code: 'invalid-request',
        errors: [
          {
            path: 'batchId',
            message:
              '"pay-all" is an all-or-nothing batch of this run that has other calls: request all calls of a batch at once',
          },
        ],
      },
    });
  });

  it('may be repeated, and completed after a part of it was recorded', () => {
    const state = recorded(call('a', { of }));
    expect(
      outcomesOf(step([allowedCall('a', { of, state }), allowedCall('b', { of })], { inBatch: ['id-of-a'] })),
    ).toEqual(['nothing', 'allow']);
  });

  it('is refused by a process that does not know the calls of a batch, unless it has no id', () => {
    expect(outcomesOf(step(named, { inBatch: null }))).toBe('unavailable');
    const unnamed = ['a', 'b'].map((one) => allowedCall(one, { of: { ...of, batchId: null } }));
    expect(outcomesOf(step(unnamed, { inBatch: null }))).toEqual(['allow', 'allow']);
  });

  it('has at most so many calls as each of them can list', () => {
    const calls = ['a', 'b', 'c', 'd', 'e'].map((one) => allowedCall(one, { of: all }));
    expect(outcomesOf(step(calls.slice(0, 4)))).toHaveLength(4);
    expect(outcomesOf(step(calls))).toBe('invalid-request');
    expect(outcomesOf(step(['a', 'b', 'c', 'd', 'e'].map((one) => allowedCall(one))))).toHaveLength(5);
  });
});

describe('a rule that makes the step sequential', () => {
  const inTurn = {
    verdict: { ...verdict(), ruleId: 'one-by-one' },
    requirement: requirement({ batch: 'sequential' }),
  };
  const queued = { batchMode: 'sequential', batchRuleId: 'one-by-one' };

  it('concerns each call of the step, also a step of one call', () => {
    const asked = call('a', { judged: inTurn });
    expect(batchesOf(asked)).toMatchObject([queued]);
    expect(batchesOf(asked, allowedCall('b'))).toMatchObject([queued, queued]);
    expect(batchesOf(call('a', { judged: { ...inTurn, verdict: verdict('allow') } }))).toMatchObject([
      { batchMode: 'independent' },
    ]);
  });

  it('leaves what runs all or not at all as it is, by the agent or by a rule', () => {
    expect(batchesOf(call('a', { judged: inTurn }), paying('b'))).toMatchObject([all, all]);
    const of = { ...all, batchCallIds: ['id-of-a', 'id-of-b'] };
    expect(batchesOf(call('a', { judged: inTurn, of }), allowedCall('b', { of }))).toMatchObject([all, all]);
  });

  it('concerns a single call that its agent called an all-or-nothing batch, and a repeat of it', () => {
    const alone = call('a', { judged: inTurn, of: all });
    expect(batchesOf(alone)).toMatchObject([queued]);
    const known = recorded(call('a', { of: { ...queued, batchMode: 'sequential' } }));
    expect(batchesOf(call('a', { judged: inTurn, of: all, state: known }))).toEqual([null]);
  });

  it('does not bind the rest of a step to calls that wait in a queue', () => {
    const of = { ...queued, batchMode: 'sequential' as const, batchCallIds: ['id-of-a', 'id-of-b'] };
    const known = call('a', { judged: inTurn, of, state: recorded(call('a', { of })) });
    expect(batchesOf(known, allowedCall('b'))).toMatchObject([null, queued]);
  });
});
