import { describe, expect, it } from '@jest/globals';
import { decideStep } from './step.decider.js';
import type { StepCall } from './step.facts.js';
import { requirement, verdict } from './testing/fixtures.js';
import { acceptedCalls, allowedCall, call, outcomesOf, recorded, step } from './testing/step-fixtures.js';

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
