import { describe, expect, it } from '@jest/globals';
import type { Stage } from '@countersign/contracts';
import { decideStep } from './step.decider.js';
import type { StepCall, StepFacts } from './step.facts.js';
import { minute } from './testing/constants.js';
import { cancel, requirement, verdict } from './testing/fixtures.js';
import { before, quotas } from './testing/quota-fixtures.js';
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

const refusalOf = (facts: StepFacts) => {
  const decision = decideStep(facts);
  return decision.status === 'refused' ? decision.refusal : undefined;
};

describe('a request', () => {
  it('records a verdict for each of its calls', () => {
    const blocked = call('c', { judged: { verdict: verdict('block'), requirement: requirement() } });
    expect(acceptedCalls(step([call('a'), allowedCall('b'), blocked]))).toMatchObject([
      { command: { judgement: { outcome: 'require' }, approvalId: 'approval-of-a', at: minute(0) }, use: null },
      { command: { judgement: { outcome: 'allow' } } },
      { command: { judgement: { outcome: 'block', reason: 'amount above 50' } } },
    ]);
  });

  it('adds nothing for a repeat', () => {
    expect(outcomesOf(step([call('a', { state: recorded(call('a')) }), call('b')]))).toEqual(['nothing', 'require']);
  });

  it('is refused whole when one of its calls is recorded with other arguments', () => {
    const other = call('a', { of: { actionDigest: 'sha256:other' }, state: recorded(call('a')) });
    expect(refusalOf(step([call('b'), other]))).toEqual({
      code: 'tool-call-mismatch',
      detail:
        'tool call "a" of this run: The same tool call is already recorded with other arguments. ' +
        'Give a new call a new toolCallId.',
    });
  });

  it('is refused for another principal before anything else is judged', () => {
    const theirs = call('a', { of: { requestedBy: 'mallory' }, state: recorded(call('a')) });
    const facts = quotas({ pendingPerAgent: 1 }, before({ pending: 1 }));
    const questions = asQuestions([theirs]);
    expect(outcomesOf(step([theirs], { quotas: { ...facts, questions } }))).toBe('tool-call-mismatch');
  });
});

describe('a nested call', () => {
  const parent = (change: Parameters<typeof call>[1] = {}) => recorded(call('outer', change));
  const inside = (outer: StepCall['parent']) => call('inner', { parent: outer });
  const errorsOf = (facts: StepFacts) => refusalOf(facts)?.errors?.map(({ path, message }) => [path, message]);

  it('is recorded inside a call of its tenant', () => {
    expect(outcomesOf(step([inside({ callId: 'id-of-outer', call: parent(), isCancelled: false })]))).toEqual([
      'require',
    ]);
  });

  it.each([
    [
      'is not recorded',
      { callId: 'id-of-other', call: undefined, isCancelled: false },
      'is not a recorded tool call: record the parent first',
    ],
    ['is the call itself', { callId: 'id-of-inner', call: undefined, isCancelled: false }, 'is this call itself'],
  ])('is refused when its parent %s', (_, outer, message) => {
    expect(errorsOf(step([call('a'), inside(outer)]))).toEqual([['calls.1.parentCallId', message]]);
  });

  it('is refused beyond the calls that may be around it', () => {
    const link = { callId: 'x', agentId: 'x', toolName: 'x', runId: 'x', requestedBy: 'x' };
    const deep = (links: number) => ({
      callId: 'id-of-outer',
      call: parent({ of: { chain: Array.from({ length: links }, () => link) } }),
      isCancelled: false,
    });
    expect(outcomesOf(step([inside(deep(1))]))).toEqual(['require']);
    expect(errorsOf(step([inside(deep(2))]))).toEqual([
      ['calls.0.parentCallId', 'has 2 calls around it, and no more are possible'],
    ]);
  });

  it('is refused inside a cancelled call, unless it was recorded before', () => {
    const outer = { callId: 'id-of-outer', call: recorded(call('outer'), cancel()), isCancelled: true };
    expect(refusalOf(step([inside(outer)]))).toMatchObject({ code: 'already-settled', extra: { state: 'cancelled' } });
    expect(outcomesOf(step([call('inner', { parent: outer, state: recorded(call('inner')) })]))).toEqual(['nothing']);
  });
});

describe('the approvers that are left', () => {
  const approvers = [
    { names: ['alice'], groups: ['ops'] },
    { names: ['bob', 'bob@example.com'], groups: ['sales'] },
  ];
  const named = (onBehalfOf: string, change: Parameters<typeof call>[1] = {}) => {
    const stages: Stage[] = [{ mode: 'quorum', approve: 1, deny: 1, groups: ['ops'] }];
    const judged = { verdict: verdict(), requirement: requirement({ stages }) };
    return call('a', { judged, of: { onBehalfOf }, ...change });
  };

  it('must be enough for each stage after the people whom the agent names', () => {
    expect(refusalOf(step([named('alice')], { approvers }))).toMatchObject({
      code: 'no-approver-left',
      errors: [
        {
          path: 'calls.0',
          message: 'onBehalfOf and parentCallId leave too few approvers for stage 1 of "refunds"',
        },
      ],
    });
    expect(outcomesOf(step([named('bob@example.com')], { approvers }))).toEqual(['require']);
  });

  it('refuse nothing where they are not known, and where nobody is asked', () => {
    expect(outcomesOf(step([named('alice')]))).toEqual(['require']);
    const judged = { verdict: verdict('allow'), requirement: requirement() };
    expect(outcomesOf(step([named('alice', { judged })], { approvers }))).toEqual(['allow']);
  });

  it('must be enough for a stricter repeat as well, which asks people', () => {
    const allowed = recorded(call('a', { of: { needsApproval: false, onBehalfOf: 'alice' } }));
    const state = { ...allowed, permission: { status: 'allowed' } } as typeof allowed;
    const stricter = named('alice', { state, of: { needsApproval: true, onBehalfOf: 'alice' } });
    expect(outcomesOf(step([stricter], { approvers }))).toBe('no-approver-left');
    expect(outcomesOf(step([named('alice', { state: allowed })], { approvers }))).toEqual(['nothing']);
  });

  it('are judged before a grant is used', () => {
    const facts = step([named('alice', { grants: [grantFacts()] })], { approvers });
    expect(outcomesOf(facts)).toBe('no-approver-left');
  });
});

describe('the quotas of a request', () => {
  const limited = (calls: readonly StepCall[], pending = 1, pendingPerAgent = 2): StepFacts =>
    step(calls, { quotas: { ...quotas({ pendingPerAgent }, before({ pending })), questions: asQuestions(calls) } });

  it('refuse it whole', () => {
    expect(outcomesOf(limited([call('b'), allowedCall('c'), call('d')]))).toBe('too-many-requests');
    expect(outcomesOf(limited([call('b'), allowedCall('c')]))).toEqual(['require', 'allow']);
  });

  it('ignore calls without an approval, and repeats of what is pending', () => {
    expect(outcomesOf(limited([allowedCall('c')], 2))).toEqual(['allow']);
    expect(outcomesOf(limited([call('a', { state: recorded(call('a')) })], 2))).toEqual(['nothing']);
  });

  it('count a stricter repeat, which asks people', () => {
    const allowed = recorded(call('a', { of: { needsApproval: false } }));
    const state = { ...allowed, permission: { status: 'allowed' } } as typeof allowed;
    const stricter = call('a', { of: { needsApproval: true }, state });
    expect(outcomesOf(limited([stricter], 1))).toEqual(['require']);
    expect(outcomesOf(limited([stricter], 2))).toBe('too-many-requests');
  });

  it('ignore calls that a grant covers, and count those for which no use is left', () => {
    const grants = (maxUses: number | null) => [grantFacts({ maxUses })];
    const two = (maxUses: number | null) => ['a', 'b'].map((one) => call(one, { grants: grants(maxUses) }));
    expect(outcomesOf(limited(two(null), 2))).toEqual(['allow', 'allow']);
    expect(outcomesOf(limited(two(1), 2))).toBe('too-many-requests');
    expect(outcomesOf(limited([...two(null), call('c')], 2))).toBe('too-many-requests');
  });

  it('refuse a call that looked covered once its grant has ended', () => {
    const [revoked] = [grantFacts({}, { status: 'revoked' })];
    expect(outcomesOf(limited([call('a', { grants: [revoked] })], 2))).toBe('too-many-requests');
  });

  it('need every call as a question', () => {
    const facts = limited([call('a'), call('b')]);
    expect(() => decideStep({ ...facts, quotas: facts.quotas && { ...facts.quotas, questions: [] } })).toThrow(
      'Broken invariant: each call is a question of the quotas',
    );
  });
});
