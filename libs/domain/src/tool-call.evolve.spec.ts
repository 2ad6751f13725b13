import { describe, expect, it } from '@jest/globals';
import { history, stateAfter } from './testing/given.js';
import {
  answer,
  ask,
  cancel,
  claim,
  deny,
  digest,
  digestOf,
  editBy,
  expire,
  firstApproval,
  lapseApproval,
  lapseClaim,
  minute,
  reconcile,
  report,
  request,
  requestAllowed,
  requestBlocked,
  respond,
  secondApproval,
  stage,
  stored,
  verdict,
} from './testing/fixtures.js';
import type { ToolCallCommand } from './tool-call.commands.js';
import { callState, currentApproval, isDecided, isSettled } from './tool-call.state.js';

/** After these commands: the state, whether no approval is pending, whether the call has its result, and since when. */
const lives: readonly (readonly [string | null, boolean, string | null, readonly ToolCallCommand[]])[] = [
  [null, false, null, []],
  ['awaiting_approval', false, null, [request()]],
  ['allowed', true, null, [requestAllowed()]],
  ['blocked', true, stored(0), [requestBlocked()]],
  ['approved', true, null, [request(), respond('alice')]],
  ['denied', true, stored(5), [request(), deny('alice')]],
  ['expired', true, stored(60), [request(), expire()]],
  ['expired', true, stored(65), [request(), respond('alice'), lapseApproval(minute(65))]],
  ['cancelled', true, stored(6), [request(), cancel()]],
  ['succeeded', true, stored(5), [request(), answer('alice', 'x')]],
  ['executing', true, null, [requestAllowed(), claim()]],
  ['succeeded', true, stored(10.5), [requestAllowed(), claim(), report()]],
  ['failed', true, stored(10.5), [requestAllowed(), claim(), report({ status: 'failed', error: 'x' })]],
  ['unknown', true, stored(11), [requestAllowed(), claim(), lapseClaim()]],
  ['failed', true, stored(30), [requestAllowed(), claim(), lapseClaim(), reconcile('failed')]],
  ['allowed', true, null, [requestAllowed(), claim(), lapseClaim(), reconcile('retry')]],
  ['approved', true, null, [request(), respond('alice'), claim(), lapseClaim(), reconcile('retry')]],
  [
    'awaiting_approval',
    false,
    null,
    [request(), expire(), ask({ round: 2, approvalId: secondApproval, at: minute(61) })],
  ],
];

describe('the fold of a call', () => {
  it.each(lives)('is %s (decided %j, settled at %j)', (name, decided, settledAt, commands) => {
    const state = stateAfter(history(...commands));
    expect(callState(state)).toBe(name);
    expect(isDecided(state)).toBe(decided);
    expect(isSettled(state)).toBe(settledAt !== null);
    expect(state.status === 'recorded' ? state.settledAt : null).toBe(settledAt);
  });

  it('keeps the request in addition to the edited arguments', () => {
    expect(stateAfter(history(request(), editBy('alice')))).toMatchObject({
      request: { arguments: { amount: 100 }, actionDigest: digest },
      action: { arguments: { amount: 'b' }, actionDigest: digestOf('b') },
      permission: { status: 'approved', actionDigest: digestOf('b'), executeBy: stored(65) },
      approvals: [
        { proposals: [{ action: { actionDigest: digest } }, { kind: 'run', action: { actionDigest: digestOf('b') } }] },
      ],
    });
  });

  it('keeps the instructions of the votes that approved, in their order', () => {
    const two = { stages: [stage({ approve: 2 })] };
    const alice = respond('alice', { instruction: 'verify the backup' });
    expect(stateAfter(history(request(two), alice))).toMatchObject({ instruction: null });
    expect(stateAfter(history(request(two), alice, respond('bob')))).toMatchObject({
      instruction: 'verify the backup',
    });
    expect(stateAfter(history(request(two), alice, respond('bob', { instruction: 'tell ops' })))).toMatchObject({
      instruction: 'verify the backup\n\ntell ops',
    });
  });

  it('keeps the note of a person as the error of an execution that failed', () => {
    const events = history(requestAllowed(), claim(), lapseClaim(), reconcile('failed'));
    const error = { code: 'reconciled', message: 'looked it up' };
    expect(stateAfter(events)).toMatchObject({ execution: { by: 'reconciliation', error } });
  });

  it('keeps the verdict that judged the call last', () => {
    expect(stateAfter(history(requestBlocked()))).toMatchObject({ verdict: verdict('block') });
    expect(stateAfter(history(requestAllowed(), ask()))).toMatchObject({ verdict: verdict('require') });
  });

  it('lets nothing run before the verdict is there', () => {
    const [requested] = history(request());
    const state = stateAfter(requested === undefined ? [] : [requested]);
    expect(callState(state)).toBe('awaiting_approval');
    expect(currentApproval(state)).toBeUndefined();
  });

  it('keeps the first resolution over later ones in the log', () => {
    const events = history(request(), deny('alice'));
    const [late] = history(request(), respond('bob')).slice(2);
    const state = stateAfter(late === undefined ? [] : [...events, late]);
    expect(callState(state)).toBe('denied');
    expect(currentApproval(state)?.resolution).toMatchObject({ status: 'denied', respondedBy: 'alice' });
  });

  it('changes nothing by an event that came without its cause', () => {
    const [requested, , responded] = history(request(), respond('alice'));
    const [, , , claimRenewedLater] = history(requestAllowed(), claim(), {
      type: 'RenewClaim',
      at: minute(10.5),
      attempt: 1,
      leaseMs: 99_999_999,
    });
    const before = stateAfter(requested === undefined ? [] : [requested]);
    for (const event of [requested, responded, claimRenewedLater]) {
      const events = [requested, event].flatMap((one) => (one === undefined ? [] : [one]));
      expect(stateAfter(events)).toEqual(before);
      if (event !== requested)
        expect(stateAfter(event === undefined ? [] : [event])).toEqual({ status: 'unrequested' });
    }
  });

  it('closes the pending approval with the call', () => {
    expect(currentApproval(stateAfter(history(request(), cancel())))).toMatchObject({
      approvalId: firstApproval,
      resolution: { status: 'cancelled', cancelledBy: 'agent', reason: 'no longer needed' },
    });
  });
});
