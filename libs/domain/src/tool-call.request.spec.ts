import { describe, expect, it } from '@jest/globals';
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
  firstApproval,
  lapseApproval,
  lapseClaim,
  minute,
  proposal,
  reconcile,
  report,
  request,
  requestAllowed,
  requestBlocked,
  requirement,
  respond,
  secondApproval,
  startMs,
  stored,
  verdict,
} from './testing/fixtures.js';
import { callState, currentApproval, nextRound, recordedSalt } from './tool-call.state.js';

const approvalRequested = {
  type: 'ApprovalRequested',
  data: {
    approvalId: firstApproval,
    round: 1,
    actionDigest: digest,
    verdict: verdict(),
    requirement: requirement(),
    reason: 'the customer asked',
    description: 'Refund 100',
    requestedBy: 'agent',
    requestedAt: stored(0),
    expiresAt: stored(60),
  },
} as const;

describe('RequestToolCall', () => {
  const requested = { type: 'ToolCallRequested', data: { ...proposal(), requestedAt: stored(0) } } as const;

  it('records the proposal and the question to people in one decision', () => {
    given([]).when(request()).then([requested, approvalRequested]);
  });

  it('records the proposal and which rule allowed it', () => {
    given([])
      .when(requestAllowed())
      .then([requested, { type: 'ToolCallAllowed', data: { verdict: verdict('allow'), allowedAt: stored(0) } }]);
  });

  it('records the proposal and which rule blocked it', () => {
    const blocked = { verdict: verdict('block'), reason: 'never', blockedAt: stored(0) };
    given([])
      .when(requestBlocked())
      .then([requested, { type: 'ToolCallBlocked', data: blocked }]);
  });

  it('waits without a deadline where `never` is written out', () => {
    const command = request({ expiresInMs: 'never' });
    const required = requirement({ expiresInMs: 'never' });
    const asked = { ...approvalRequested, data: { ...approvalRequested.data, requirement: required, expiresAt: null } };
    given([]).when(command).then([requested, asked]);
  });

  it('adds nothing when it is repeated with the same digest, in any later state', () => {
    for (const events of [
      history(request()),
      history(requestAllowed(), claim(), report()),
      history(request(), editBy('alice')),
    ]) {
      given(events)
        .when({ ...request(), at: minute(90) })
        .thenNothing();
    }
  });

  it('is refused with other arguments under the same id', () => {
    given(history(request()))
      .when(request({}, { actionDigest: digestOf('b') }))
      .thenRefused('tool-call-mismatch');
  });

  it.each([
    ['cwd', 'for another folder'],
    ['mcpServer', 'for another MCP server'],
    ['mcpEndpoint', 'for another MCP server'],
    ['mcpDefinition', 'with another definition of the tool'],
  ])('is refused with another label %s', (name, how) => {
    const refusal = { code: 'tool-call-mismatch', detail: `The same tool call is already recorded ${how}.` } as const;
    const events = history(request({}, { labels: { [name]: 'one', team: 'a' } }));
    given(events)
      .when(request({}, { labels: { [name]: 'other', team: 'a' } }))
      .thenRefusal(refusal);
    given(events)
      .when(request({}, { labels: { team: 'a' } }))
      .thenRefusal(refusal);
    given(events)
      .when(request({}, { labels: { [name]: 'one', team: 'b' } }))
      .thenNothing();
  });

  it.each([
    [{ agentId: 'other' }, 'for another agent'],
    [{ toolName: 'other' }, 'for another tool'],
    [{ toolSchemaHash: digestOf('s') }, 'with another input schema of the tool'],
    [{ toolSchemaHash: digestOf('s'), labels: { cwd: '/other' } }, 'for another folder'],
    [{ toolSchemaHash: digestOf('s'), labels: { mcpDefinition: 'd' } }, 'with another input schema of the tool'],
    [{ toolSchemaHash: digestOf('s'), arguments: { path: '/other' } }, 'with other arguments'],
  ])('says what differs: %j', (call, how) => {
    given(history(request()))
      .when(request({}, { ...call, actionDigest: digestOf('b') }))
      .thenRefusal({ code: 'tool-call-mismatch', detail: `The same tool call is already recorded ${how}.` });
  });

  it('is refused with the arguments of an edit: the agent never asked those', () => {
    given(history(request(), editBy('alice')))
      .when(request({}, { actionDigest: digestOf('b') }))
      .thenRefused('tool-call-mismatch');
  });

  it('keeps the salt that a repeat needs for its digest', () => {
    expect(recordedSalt(stateAfter([]))).toBeNull();
    expect(recordedSalt(stateAfter(history(request())))).toBe('00');
  });
});

describe('RequestApproval', () => {
  it('asks about an allowed call, with the reason of the request where it brings none', () => {
    given(history(requestAllowed()))
      .when(ask())
      .then([
        { ...approvalRequested, data: { ...approvalRequested.data, requestedAt: stored(1), expiresAt: stored(61) } },
      ]);
  });

  it('brings its own reason, description and requirement', () => {
    const required = requirement({ expiresInMs: 1000, allowedDecisions: ['deny'] });
    const command = ask({ reason: 'worker', description: 'look', requirement: required, at: startMs });
    given(history(requestAllowed()))
      .when(command)
      .then([
        {
          ...approvalRequested,
          data: {
            ...approvalRequested.data,
            reason: 'the customer asked\n\nAdded later by agent: worker',
            description: 'Refund 100\n\nAdded later by agent: look',
            requirement: required,
            expiresAt: stored(1 / 60),
          },
        },
      ]);
  });

  it('asks again in the next round after an expired one', () => {
    const events = history(request(), expire());
    expect(nextRound(stateAfter(events))).toBe(2);
    const again = ask({ round: 2, approvalId: secondApproval, at: minute(70) });
    given(events)
      .when(again)
      .then([
        {
          ...approvalRequested,
          data: {
            ...approvalRequested.data,
            round: 2,
            approvalId: secondApproval,
            requestedAt: stored(70),
            expiresAt: stored(130),
          },
        },
      ]);
    expect(callState(stateAfter(history(request(), expire(), again)))).toBe('awaiting_approval');
  });

  it('asks again after an approval that was not used in time', () => {
    const events = history(request(), respond('alice'), lapseApproval(minute(65)));
    const again = ask({ round: 2, approvalId: secondApproval, at: minute(70) });
    expect(history(request(), respond('alice'), lapseApproval(minute(65)), again)).toHaveLength(events.length + 1);
  });

  it('is refused for an unknown call', () => {
    given([]).when(ask()).thenRefused('not-requested');
  });

  it('is refused while an approval is pending, and names it', () => {
    given(history(request())).when(ask()).thenRefused('already-pending', { approvalId: firstApproval });
  });

  it.each([
    ['approved', history(request(), respond('alice'))],
    ['denied', history(request(), deny('alice'))],
    ['cancelled', history(request(), cancel())],
    ['blocked', history(requestBlocked())],
    ['executing', history(requestAllowed(), claim())],
    ['succeeded', history(requestAllowed(), claim(), report())],
    ['unknown', history(requestAllowed(), claim(), lapseClaim())],
    ['allowed', history(requestAllowed({ idempotent: true }), claim(), lapseClaim())],
  ] as const)('is refused for a call that is %s and past its claim or its resolution', (state, events) => {
    expect(callState(stateAfter(events))).toBe(state);
    given(events)
      .when(ask({ round: nextRound(stateAfter(events)) }))
      .thenRefused('already-resolved', { state });
  });

  it.each([
    ['expired', history(request(), expire())],
    ['allowed', history(requestAllowed())],
  ] as const)('is refused for a call that is %s when its values are erased: it can no longer run', (state, events) => {
    const erased = events.map((event) =>
      event.type === 'ToolCallRequested' ? { ...event, data: { ...event.data, salt: null } } : event,
    );
    expect(callState(stateAfter(erased))).toBe(state);
    given(erased)
      .when(ask({ round: nextRound(stateAfter(erased)) }))
      .thenRefused('already-resolved', { state });
  });

  describe('and the names that the agent chose', () => {
    const named = history(requestAllowed({ onBehalfOf: 'dave' }));
    const dave = { names: ['dave'], groups: [] };
    const erin = { names: ['erin'], groups: [] };

    it('is refused when they leave too few approvers', () => {
      given(named)
        .when(ask({ approvers: [dave] }))
        .thenRefusal({
          code: 'no-approver-left',
          detail: 'onBehalfOf and parentCallId leave too few approvers for stage 1 of "refunds".',
        });
      given(history(requestAllowed()))
        .when(ask({ approvers: [dave] }))
        .thenAccepted({ round: 1 });
    });

    it('is accepted when others are left, or the approvers are not known', () => {
      given(named)
        .when(ask({ approvers: [dave, erin] }))
        .thenAccepted({ round: 1 });
      given(named).when(ask()).thenAccepted({ round: 1 });
    });
  });

  it('breaks an invariant when its round is not the next one', () => {
    expect(() => {
      given(history(requestAllowed())).when(ask({ round: 2 }));
    }).toThrow('Broken invariant: a further approval is the next round');
  });
});

describe('DescribeApproval', () => {
  const saying = (reason: string | null, description: string | null) =>
    ({ type: 'DescribeApproval', at: minute(2), reason, description, describedBy: 'agent', reach: 'own' }) as const;
  const bare = history(request({}, { reason: null, description: null }));

  it('tells people what they were not told, once', () => {
    const described = history(request({}, { reason: null, description: null }), saying('why', null));
    given(bare)
      .when(saying('why', null))
      .then([
        {
          type: 'ApprovalDescribed',
          data: {
            approvalId: firstApproval,
            reason: 'why',
            description: null,
            describedBy: 'agent',
            describedAt: stored(2),
          },
        },
      ]);
    given(described).when(saying('another', null)).then([]);
    expect(currentApproval(stateAfter(described))).toMatchObject({ reason: 'why', description: null });
  });

  it('names the principal when it is not the one that asked', () => {
    const byAdmin = { ...saying('seen with ops', null), describedBy: 'admin', reach: 'any' } as const;
    given(bare)
      .when(byAdmin)
      .then([
        {
          type: 'ApprovalDescribed',
          data: {
            approvalId: firstApproval,
            reason: 'Added by admin: seen with ops',
            description: null,
            describedBy: 'admin',
            describedAt: stored(2),
          },
        },
      ]);
  });

  it('never replaces what they may have read', () => {
    given(history(request())).when(saying('another', 'another')).then([]);
  });

  it('is refused when no approval is open', () => {
    given([]).when(saying('why', null)).thenRefused('not-requested');
    given(history(requestAllowed())).when(saying('why', null)).thenRefused('already-resolved');
    given([...bare, ...history(request(), deny('alice')).slice(2)])
      .when(saying('why', null))
      .thenRefused('already-resolved', { state: 'denied' });
  });
});

describe('CancelToolCall', () => {
  const cancelled = (approvalId: string | null) => ({
    type: 'ToolCallCancelled' as const,
    data: { approvalId, reason: 'no longer needed', cancelledBy: 'agent', cancelledAt: stored(6) },
  });

  it('ends a pending approval with the call', () => {
    given(history(request()))
      .when(cancel())
      .then([cancelled(firstApproval)]);
    expect(callState(stateAfter(history(request(), cancel())))).toBe('cancelled');
  });

  it('calls off what is allowed or approved and not claimed', () => {
    for (const events of [history(requestAllowed()), history(request(), respond('alice'))]) {
      given(events)
        .when(cancel())
        .then([cancelled(null)]);
    }
  });

  it('is refused once the call was claimed, also when its claim was released: it may have run', () => {
    given(history(requestAllowed(), claim())).when(cancel()).thenRefused('already-claimed');
    given(history(requestAllowed({ idempotent: true }), claim(), lapseClaim()))
      .when(cancel(minute(12)))
      .thenRefused('already-claimed');
    given(history(requestAllowed(), claim(), lapseClaim(), reconcile('retry')))
      .when(cancel(minute(40)))
      .thenRefused('already-claimed');
  });

  it.each([
    ['blocked', history(requestBlocked())],
    ['denied', history(request(), deny('alice'))],
    ['expired', history(request(), expire())],
    ['cancelled', history(request(), cancel())],
    ['succeeded', history(requestAllowed(), claim(), report())],
    ['failed', history(requestAllowed(), claim(), lapseClaim(), reconcile('failed'))],
    ['unknown', history(requestAllowed(), claim(), lapseClaim())],
  ] as const)('is refused once the call is %s', (state, events) => {
    given(events).when(cancel()).thenRefused('already-settled', { state });
  });

  it('is refused for an unknown call', () => {
    given([]).when(cancel()).thenRefused('not-requested');
  });
});
