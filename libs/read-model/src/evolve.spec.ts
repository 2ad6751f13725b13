import type { EventData, ToolCallView } from '@countersign/contracts';
import { toolCallEventTypes, toolCallViewSchema } from '@countersign/contracts';
import type { CallRow } from './call-row.js';
import { evolve } from './evolve.js';
import { approved, asked, claimed, requested, rowAfter } from './testing/row-after.js';
import type { Step } from './testing/row-after.js';
import { createTestLog, digestOf, minute, requirement, stage } from './testing/test-log.js';
import { toToolCallView } from './views.js';

function viewAfter(...steps: readonly Step[]): ToolCallView {
  return toolCallViewSchema.parse(toToolCallView(rowAfter(...steps), 'whole'));
}

const ofTwo = { requirement: requirement({ stages: [stage({ approve: 2 })] }) };
const edit: EventData<'ApprovalResponded'>['decision'] = {
  type: 'edit',
  arguments: { amount: 50 },
  sensitive: [],
  salt: '01',
  verdict: { outcome: 'require', ruleId: 'refunds', policyVersion: digestOf('f'), automatic: false, why: [] },
  requirement: null,
  clock: null,
};

describe('the state of a call', () => {
  it.each<[ToolCallView['state'], readonly Step[]]>([
    ['allowed', [requested, ['ToolCallAllowed']]],
    ['blocked', [requested, ['ToolCallBlocked']]],
    ['awaiting_approval', asked],
    ['awaiting_approval', [...asked, ['ApprovalResponded', { resolution: 'pending', executeBy: null }]]],
    ['approved', approved],
    ['denied', [...asked, ['ApprovalResponded', { decision: { type: 'deny' }, resolution: 'denied' }]]],
    ['expired', [...asked, ['ApprovalExpired']]],
    ['expired', [...approved, ['ApprovalLapsed']]],
    ['cancelled', [...asked, ['ToolCallCancelled']]],
    ['executing', claimed],
    ['executing', [...claimed, ['ExecutionClaimRenewed']]],
    ['succeeded', [...claimed, ['ExecutionSucceeded']]],
    ['failed', [...claimed, ['ExecutionFailed']]],
    ['unknown', [...claimed, ['ExecutionOutcomeUnknown']]],
    ['approved', [...claimed, ['ExecutionLapsed']]],
    ['allowed', [requested, ['ToolCallAllowed'], ['ExecutionClaimed'], ['ExecutionLapsed']]],
    ['succeeded', [...claimed, ['ExecutionOutcomeUnknown'], ['ExecutionReconciled']]],
    ['failed', [...claimed, ['ExecutionOutcomeUnknown'], ['ExecutionReconciled', { status: 'failed' }]]],
    ['approved', [...claimed, ['ExecutionOutcomeUnknown'], ['ExecutionReconciled', { status: 'retry' }]]],
    ['succeeded', [...claimed, ['ExecutionOutcomeUnknown'], ['ExecutionSucceeded']]],
    ['awaiting_approval', [...asked, ['ApprovalExpired'], ['ApprovalRequested', { round: 2 }]]],
  ])('is %s', (state, steps) => {
    expect(viewAfter(...steps).state).toBe(state);
  });

  it('counts every event of the stream', () => {
    expect(rowAfter(...claimed, ['ExecutionSucceeded']).revision).toBe(4);
  });
});

describe('the result of a call', () => {
  it('is the output of its execution', () => {
    const view = viewAfter(...claimed, ['ExecutionSucceeded']);
    expect(view).toMatchObject({ output: { refundId: 'r1' }, error: null, settledAt: minute(9) });
  });

  it('is the answer that a person gave in place of the run, which cannot be claimed any more', () => {
    const row = rowAfter(...asked, [
      'ApprovalResponded',
      { decision: { type: 'answer', output: 'no need' }, proposal: 2, executeBy: null },
    ]);
    const view = toToolCallView(row, 'whole');
    expect(view).toMatchObject({ state: 'succeeded', output: 'no need', settledAt: minute(5) });
    expect(view.approval).toMatchObject({ state: 'approved', resolution: 'approved', resolvedAt: minute(5) });
    expect(row.dueAt).toBeNull();
  });

  it('is the answer that a second person agreed to', () => {
    const view = viewAfter(
      requested,
      ['ApprovalRequested', ofTwo],
      [
        'ApprovalResponded',
        { decision: { type: 'answer', output: { x: 1 } }, proposal: 2, resolution: 'pending', executeBy: null },
      ],
      ['ApprovalResponded', { respondedBy: 'bob', proposal: 2, executeBy: null }],
    );
    expect(view).toMatchObject({ state: 'succeeded', output: { x: 1 } });
  });

  it('is a run again when the vote that gave the answer is withdrawn', () => {
    const view = viewAfter(
      requested,
      ['ApprovalRequested', ofTwo],
      [
        'ApprovalResponded',
        { decision: { type: 'answer', output: 1 }, proposal: 2, resolution: 'pending', executeBy: null },
      ],
      ['ResponseWithdrawn', { ends: 'proposal' }],
      ['ApprovalResponded', { respondedBy: 'bob', resolution: 'pending', executeBy: null }],
      ['ApprovalResponded', { respondedBy: 'carol' }],
    );
    expect(view).toMatchObject({ state: 'approved', output: null });
    expect(view.approval?.responses.map(({ respondedBy }) => respondedBy)).toEqual(['bob', 'carol']);
  });

  it.each<[string, unknown, readonly Step[]]>([
    [
      'denied',
      'too much',
      [...asked, ['ApprovalResponded', { decision: { type: 'deny' }, reason: 'too much', resolution: 'denied' }]],
    ],
    ['denied', 'User denied', [...asked, ['ApprovalResponded', { decision: { type: 'deny' }, resolution: 'denied' }]]],
    ['blocked', 'never', [requested, ['ToolCallBlocked']]],
    ['expired', 'No person answered in time', [...asked, ['ApprovalExpired']]],
    ['expired', 'Approved, but not executed in time', [...approved, ['ApprovalLapsed']]],
    ['cancelled', 'run stopped', [...asked, ['ToolCallCancelled']]],
    ['unknown', 'the lease ended without a report', [...claimed, ['ExecutionOutcomeUnknown']]],
  ])('says why a call is %s: %s', (code, message, steps) => {
    const view = viewAfter(...steps);
    expect(view.error).toEqual({ code, message });
    expect(view.settledAt).not.toBeNull();
  });

  it('forgets an outcome that a later event corrects', () => {
    const view = viewAfter(...claimed, ['ExecutionOutcomeUnknown'], ['ExecutionReconciled', { status: 'retry' }]);
    expect(view).toMatchObject({ error: null, output: null, settledAt: null });
  });

  it('is what the person found who reconciled it', () => {
    const view = viewAfter(...claimed, ['ExecutionOutcomeUnknown'], ['ExecutionReconciled', { status: 'failed' }]);
    expect(view).toMatchObject({ error: { code: 'reconciled', message: 'seen in the ledger' }, settledAt: minute(90) });
  });
});

describe('an edit', () => {
  const edited = ['ApprovalResponded', { decision: edit, proposal: 2, actionDigest: digestOf('b') }] as const;

  it('replaces what will run, and keeps what was asked', () => {
    const view = viewAfter(...asked, edited);
    expect(view).toMatchObject({
      state: 'approved',
      arguments: { amount: 50 },
      actionDigest: digestOf('b'),
      originalArguments: { amount: 100 },
    });
    expect(view.approval).toMatchObject({ arguments: { amount: 50 }, actionDigest: digestOf('b') });
  });

  it('is the only reason for originalArguments', () => {
    expect(viewAfter(...approved)).not.toHaveProperty('originalArguments');
  });

  it('is what the others are asked about while the approval is still pending', () => {
    const pending = { resolution: 'pending', executeBy: null } as const;
    const row = rowAfter(
      requested,
      ['ApprovalRequested', ofTwo],
      ['ApprovalResponded', { respondedBy: 'bob', ...pending }],
      ['ApprovalResponded', { ...edited[1], ...pending }],
    );
    const view = toToolCallView(row, 'whole');
    expect(view.approval).toMatchObject({ state: 'pending', arguments: { amount: 50 }, actionDigest: digestOf('b') });
    // Bob agreed to other arguments: shown, but void.
    expect(view.approval?.responses).toHaveLength(2);
    expect(row.approvals[0]?.votes.map(({ status }) => status)).toEqual(['void', 'counted']);
  });

  it('ends with its round: the next one asks about the request, and says that there was an edit', () => {
    const view = viewAfter(
      ...asked,
      ['ApprovalResponded', { ...edited[1], resolution: 'pending', executeBy: null }],
      ['ApprovalExpired'],
      ['ApprovalRequested', { round: 2, approvalId: 'second' }],
    );
    expect(view).toMatchObject({ arguments: { amount: 100 }, settledAt: null });
    expect(view.approval).toMatchObject({
      ...{ round: 2, arguments: { amount: 100 }, responses: [] },
      proposal: { number: 1, proposedBy: 'agent' },
      endedProposals: [{ number: 2, kind: 'run', proposedBy: 'alice' }],
    });
  });

  it('is the question of a further round where an older version asked about it again', () => {
    const view = viewAfter(
      ...asked,
      ['ApprovalResponded', { ...edited[1], proposal: null, resolution: 'pending', executeBy: null }],
      ['ApprovalExpired'],
      ['ApprovalRequested', { round: 2, approvalId: 'second', actionDigest: digestOf('b') }],
    );
    expect(view.approval).toMatchObject({
      ...{ round: 2, arguments: { amount: 50 }, responses: [] },
      proposal: { number: 1, proposedBy: 'alice' },
    });
  });

  it('can raise the requirement', () => {
    const demanded = requirement({ stages: [stage({ approve: 2, groups: ['security'] })], risk: 'high' });
    const view = viewAfter(...asked, [
      'ApprovalResponded',
      {
        decision: { ...edit, requirement: demanded, clock: { expiresAt: minute(30) } },
        proposal: 2,
        actionDigest: digestOf('b'),
        resolution: 'pending',
        executeBy: null,
      },
    ]);
    expect(view.approval).toMatchObject({
      ...{ risk: 'high', expiresAt: minute(30) },
      requirement: { ...demanded, stages: [stage(), ...demanded.stages].slice(-1) },
    });
  });
});

describe('events that no command produces', () => {
  it('leave no row before the request', () => {
    const log = createTestLog();
    log.call('call_1').record('ExecutionSucceeded');
    expect(log.events.reduce<CallRow | undefined>(evolve, undefined)).toBeUndefined();
  });

  it.each(toolCallEventTypes)('%s never throws, and the first resolution stays', (type) => {
    const row = rowAfter(...asked, ['ApprovalResponded', { decision: { type: 'deny' }, resolution: 'denied' }], [
      type,
    ] as Step);
    expect(row.approvals[0]?.resolution).toMatchObject({ status: 'denied', at: minute(5) });
  });

  it('a renewal without a claim changes nothing', () => {
    expect(rowAfter(...approved, ['ExecutionClaimRenewed'])).toMatchObject({
      state: 'approved',
      execution: { status: 'none' },
    });
  });

  it('a reader between request and verdict sees a call that may not run', () => {
    expect(viewAfter(requested)).toMatchObject({
      state: 'awaiting_approval',
      verdict: { outcome: 'require' },
      approval: null,
    });
  });
});
