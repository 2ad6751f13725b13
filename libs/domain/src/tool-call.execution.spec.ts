import { describe, expect, it } from '@jest/globals';
import type { EventData, ToolCallEvent } from '@countersign/contracts';
import { given, history, stateAfter } from './testing/given.js';
import {
  ask,
  cancel,
  claim,
  deny,
  digest,
  digestOf,
  editBy,
  expire,
  failed,
  lapseApproval,
  lapseClaim,
  minute,
  minuteMs,
  reconcile,
  renew,
  report,
  request,
  requestAllowed,
  requestBlocked,
  respond,
  stored,
  submit,
  succeeded,
} from './testing/fixtures.js';
import { toolCallDecider } from './tool-call.decider.js';
import { callState } from './tool-call.state.js';

const idempotent = { idempotent: true };
const clientExecuted = { clientExecuted: true };

const claimed = (attempt = 1, n = 10, actionDigest = digest): ToolCallEvent => ({
  type: 'ExecutionClaimed',
  data: {
    attempt,
    resolverId: 'resolver-1',
    claimedBy: 'worker',
    actionDigest,
    idempotencyKey: 'key-1',
    claimId: 'claim-1',
    claimedAt: stored(n),
    leaseUntil: stored(n + 1),
  },
});

const reported = (n = 10.5, attempt: number | null = 1) => ({
  attempt,
  executedBy: 'resolver' as const,
  reportedBy: 'worker',
  reportedAt: stored(n),
});

type Late = EventData<'ExecutionSucceeded'>['late'];

const cancelledByOlderVersion: ToolCallEvent = {
  type: 'ToolCallCancelled',
  data: { approvalId: null, reason: 'x', cancelledBy: 'agent', cancelledAt: stored(12) },
};

const hasSucceeded = (n = 10.5, late?: Late): ToolCallEvent => ({
  type: 'ExecutionSucceeded',
  data: { ...reported(n), output: { refunded: 100 }, ...(late === undefined ? {} : { late }) },
});

describe('ClaimExecution', () => {
  it('is given for an allowed and for an approved call', () => {
    given(history(requestAllowed())).when(claim()).then([claimed()]);
    given(history(request(), respond('alice')))
      .when(claim())
      .then([claimed()]);
  });

  it('is given for the arguments of an edit, and only for those', () => {
    const events = history(request(), editBy('alice'));
    given(events).when(claim()).thenRefused('digest-mismatch');
    given(events)
      .when(claim({ actionDigest: digestOf('b') }))
      .then([claimed(1, 10, digestOf('b'))]);
  });

  it('is refused for other arguments than those that were allowed', () => {
    given(history(requestAllowed()))
      .when(claim({ actionDigest: digestOf('c') }))
      .thenRefused('digest-mismatch', { actionDigest: digest });
  });

  it('gives the next fencing token after each released claim', () => {
    given(history(requestAllowed(idempotent), claim(), lapseClaim()))
      .when(claim({ at: minute(20) }))
      .then([claimed(2, 20)]);
    given(history(requestAllowed(), claim(), lapseClaim(), reconcile('retry')))
      .when(claim({ at: minute(40) }))
      .then([claimed(2, 40)]);
  });

  it.each([
    ['awaiting_approval', history(request())],
    ['denied', history(request(), deny('alice'))],
    ['expired', history(request(), expire())],
    ['blocked', history(requestBlocked())],
    ['cancelled', history(request(), respond('alice'), cancel())],
  ] as const)('is refused for a call that is %s', (state, events) => {
    expect(callState(stateAfter(events))).toBe(state);
    given(events).when(claim()).thenRefused('not-approved', { state });
  });

  it('is refused when an allowed call was put to people meanwhile', () => {
    given(history(requestAllowed(), ask())).when(claim()).thenRefused('not-approved');
  });

  it('is refused for a call that the client executes, and for an unknown one', () => {
    given(history(requestAllowed(clientExecuted)))
      .when(claim())
      .thenRefused('not-approved');
    given([]).when(claim()).thenRefused('not-approved');
  });

  it('is refused while another claim stands, also when its lease is over and no lapse is recorded', () => {
    const extra = { attempt: 1, resolverId: 'resolver-1', leaseUntil: stored(11) };
    for (const at of [minute(10), minute(99)]) {
      given(history(requestAllowed(idempotent), claim()))
        .when(claim({ at, resolverId: 'resolver-2' }))
        .thenRefused('already-claimed', extra);
    }
  });

  it.each([
    ['succeeded', history(requestAllowed(), claim(), report())],
    ['failed', history(requestAllowed(), claim(), report(failed))],
    ['unknown', history(requestAllowed(), claim(), lapseClaim())],
  ] as const)('is refused for a call that has %s', (state, events) => {
    given(events).when(claim()).thenRefused('already-settled', { state });
  });

  it('is refused from the millisecond at which the right to run ends, recorded or not', () => {
    const events = history(request(), respond('alice'));
    given(events)
      .when(claim({ at: minute(65) }))
      .thenRefused('approval-lapsed', { executeBy: stored(65) });
    given(history(request(), respond('alice'), lapseApproval(minute(65))))
      .when(claim({ at: minute(66) }))
      .thenRefused('approval-lapsed');
    given(events)
      .when(claim({ at: minute(65) - minuteMs }))
      .then([claimed(1, 64)]);
  });

  it('is given after the end of the right to run where an earlier claim was in time', () => {
    given(history(request({}, idempotent), respond('alice'), claim(), lapseClaim()))
      .when(claim({ at: minute(90) }))
      .then([claimed(2, 90)]);
  });

  it('breaks an invariant when it is decided on another call', () => {
    expect(() => {
      given(history(requestAllowed())).when(claim({ callId: 'tc_other' }));
    }).toThrow('Broken invariant: a claim is decided on its own call');
  });
});

describe('RenewClaim', () => {
  const renewed = (n: number) => ({
    type: 'ExecutionClaimRenewed' as const,
    data: { attempt: 1, leaseUntil: stored(n + 1), renewedAt: stored(n) },
  });

  it('moves the end of the lease, also after it until a lapse is recorded', () => {
    given(history(requestAllowed(), claim()))
      .when(renew())
      .then([renewed(10.5)]);
    given(history(requestAllowed(), claim()))
      .when(renew({ at: minute(12) }))
      .then([renewed(12)]);
  });

  it('adds nothing when it is repeated or comes late: the end never moves back', () => {
    const events = history(requestAllowed(), claim(), renew());
    given(events).when(renew()).thenNothing();
    given(events)
      .when(renew({ leaseMs: 1 }))
      .thenNothing();
  });

  it.each([
    ['of an older attempt', history(requestAllowed(idempotent), claim(), lapseClaim(), claim())],
    ['after the lapse', history(requestAllowed(idempotent), claim(), lapseClaim())],
    ['after the outcome became unknown', history(requestAllowed(), claim(), lapseClaim())],
    ['after the report', history(requestAllowed(), claim(), report())],
    ['without a claim', history(requestAllowed())],
    ['of a call that was not requested', []],
  ])('is refused %s', (_, events) => {
    given(events).when(renew()).thenRefused('stale-claim');
  });
});

describe('ReportExecution', () => {
  const executing = history(requestAllowed(), claim());

  it('records the output or the error of the tool', () => {
    given(executing).when(report()).then([hasSucceeded()]);
    given(executing)
      .when(report(failed))
      .then([{ type: 'ExecutionFailed', data: { ...reported(), error: { message: 'no such order' } } }]);
  });

  it('is recorded as late after the lease, until its lapse is recorded', () => {
    given(executing)
      .when(report(succeeded, 1, minute(20)))
      .then([hasSucceeded(20, 'lease-over')]);
  });

  it('is recorded as late from the latest attempt while the outcome is unknown', () => {
    given(history(requestAllowed(), claim(), lapseClaim()))
      .when(report(succeeded, 1, minute(20)))
      .then([hasSucceeded(20, 'outcome-unknown')]);
  });

  it('is recorded as late from the latest attempt of an idempotent tool until the next claim', () => {
    given(history(requestAllowed(idempotent), claim(), lapseClaim()))
      .when(report(succeeded, 1, minute(20)))
      .then([hasSucceeded(20, 'lease-over')]);
  });

  it('adds nothing when the same principal reports the same outcome of the same attempt again', () => {
    given(history(requestAllowed(), claim(), report()))
      .when(report())
      .thenNothing();
    given(history(requestAllowed(), claim(), report(failed)))
      .when(report(failed))
      .thenNothing();
  });

  const lapsed = [requestAllowed(idempotent), claim(), lapseClaim()] as const;
  const unknown = [requestAllowed(), claim(), lapseClaim()] as const;
  it.each([
    ['of an older attempt', history(...lapsed, claim()), report()],
    ['of an attempt that never was', executing, report(succeeded, 2)],
    ['of the contrary', history(requestAllowed(), claim(), report()), report(failed)],
    [
      'of another output',
      history(requestAllowed(), claim(), report()),
      report({ status: 'succeeded', output: 'other' }),
    ],
    [
      'of another error',
      history(requestAllowed(), claim(), report(failed)),
      report({ status: 'failed', error: 'other' }),
    ],
    ['by another principal', executing, { ...report(), reportedBy: 'thief' }],
    [
      'by another principal, with the outcome that is recorded',
      history(requestAllowed(), claim(), report()),
      { ...report(), reportedBy: 'thief' },
    ],
    ['after a person has said that it succeeded', history(...unknown, reconcile('succeeded')), report()],
    ['after a person has ordered a retry', history(...unknown, reconcile('retry')), report()],
    ['after an older version cancelled the released call', [...history(...lapsed), cancelledByOlderVersion], report()],
    ['without a claim', history(requestAllowed()), report(succeeded, 0)],
    ['of a call that was not requested', [], report()],
    ['on what the client has executed', history(requestAllowed(clientExecuted), submit()), report(succeeded, 0)],
  ])('is refused %s', (_, events, command) => {
    given(events).when(command).thenRefused('stale-claim');
  });

  it('is refused for what it is when the attempt never was', () => {
    const decision = toolCallDecider.decide(report(succeeded, 2), stateAfter(history(requestAllowed(), claim())));
    expect(decision).toMatchObject({ refusal: { detail: 'No claim has been given with the attempt 2.' } });
  });
});

describe('ReconcileExecution', () => {
  const unknown = [requestAllowed(), claim(), lapseClaim()] as const;

  it.each([
    ['succeeded', 'succeeded'],
    ['failed', 'failed'],
    ['retry', 'allowed'],
  ] as const)('with %s makes the call %s', (status, state) => {
    const data = { status, note: 'looked it up', reconciledBy: 'admin', reconciledAt: stored(30) };
    given(history(...unknown))
      .when(reconcile(status))
      .then([{ type: 'ExecutionReconciled', data }]);
    expect(callState(stateAfter(history(...unknown, reconcile(status))))).toBe(state);
  });

  it.each([
    ['whose lease ended', history(requestAllowed({ idempotent: true }), claim(), lapseClaim())],
    ['that a person let run again', history(...unknown, reconcile('retry'))],
  ])('ends a call %s, and that nobody claims again', (_, events) => {
    expect(callState(stateAfter(events))).toBe('allowed');
    given(events).when(reconcile('failed')).thenAccepted({ status: 'failed' });
    given(events).when(reconcile('retry')).thenRefused('not-unknown');
    const data = { status: 'succeeded', note: '', reconciledBy: 'admin', reconciledAt: stored(30) } as const;
    given([...events, { type: 'ExecutionReconciled', data }])
      .when(claim())
      .thenRefused('already-settled');
  });

  it.each([
    ['allowed', history(requestAllowed())],
    ['executing', history(requestAllowed(), claim())],
    ['succeeded', history(requestAllowed(), claim(), report())],
    ['reconciled', history(...unknown, reconcile('succeeded'))],
    ['not requested', []],
  ])('is refused for a call that is %s', (_, events) => {
    given(events).when(reconcile('succeeded')).thenRefused('not-unknown');
  });
});

describe('SubmitClientOutput', () => {
  const byClient = { attempt: null, executedBy: 'client', reportedBy: 'agent', reportedAt: stored(10) } as const;

  it('settles an allowed or approved call that the client executed', () => {
    given(history(requestAllowed(clientExecuted)))
      .when(submit())
      .then([{ type: 'ExecutionSucceeded', data: { ...byClient, output: { refunded: 100 } } }]);
    given(history(request({}, clientExecuted), respond('alice')))
      .when(submit(failed))
      .then([{ type: 'ExecutionFailed', data: { ...byClient, error: { message: 'no such order' } } }]);
  });

  it('is refused for a call that a resolver executes', () => {
    given(history(requestAllowed())).when(submit()).thenRefused('not-client-executed');
  });

  it.each([
    ['pending', history(request({}, clientExecuted))],
    ['denied', history(request({}, clientExecuted), deny('alice'))],
    ['expired', history(request({}, clientExecuted), expire())],
    ['cancelled', history(request({}, clientExecuted), cancel())],
    ['not requested', []],
  ])('is refused for a call that is %s', (_, events) => {
    given(events).when(submit()).thenRefused('not-approved');
  });

  it('is refused when the call has its result', () => {
    given(history(requestAllowed(clientExecuted), submit()))
      .when(submit())
      .thenRefused('already-settled');
  });

  it.each([
    ['while that is not recorded', history(request({}, clientExecuted), respond('alice'))],
    ['after the lapse', history(request({}, clientExecuted), respond('alice'), lapseApproval(minute(65)))],
  ])('is recorded as late when the right to run is over, %s', (_, events) => {
    const data = { ...byClient, reportedAt: stored(66), output: { refunded: 100 }, late: 'execute-by-over' } as const;
    given(events)
      .when(submit(succeeded, minute(66)))
      .then([{ type: 'ExecutionSucceeded', data }]);
    expect(callState(stateAfter([...events, { type: 'ExecutionSucceeded', data }]))).toBe('succeeded');
  });
});
