import { describe, expect, it } from '@jest/globals';
import { given, history, stateAfter } from './testing/given.js';
import {
  claim,
  deny,
  expire,
  firstApproval,
  minute,
  report,
  request,
  requestAllowed,
  requirement,
  respond,
  stored,
  verdict,
} from './testing/fixtures.js';
import { callId } from './testing/constants.js';
import { neededWord } from './batch.settlement.js';
import { decideStep } from './step.decider.js';
import { allowedCall, grantFacts, step } from './testing/step-fixtures.js';
import type { RequestToolCall, ToolCallProposal } from './tool-call.commands.js';

const denied = { ...verdict('block'), ruleId: 'deniedInCode', why: ['nothing else matches', 'no refunds abroad'] };

const requestDenied = (call: Partial<ToolCallProposal> = {}): RequestToolCall => ({
  ...request({}, { needsApproval: false, ...call }),
  judgement: { outcome: 'block', verdict: denied, reason: 'no refunds abroad' },
  at: minute(3),
});

const cancelled = (approvalId: string | null) =>
  ({
    type: 'ToolCallCancelled',
    data: { approvalId, reason: 'no refunds abroad', cancelledBy: 'agent', cancelledAt: stored(3) },
  }) as const;

describe('a call that the code of the agent denies', () => {
  it('is recorded as blocked in the same decision, and asks no person', () => {
    const command = requestDenied();
    given([])
      .when(command)
      .then([
        { type: 'ToolCallRequested', data: { ...command.call, requestedAt: stored(3) } },
        { type: 'ToolCallBlocked', data: { verdict: denied, reason: 'no refunds abroad', blockedAt: stored(3) } },
      ]);
  });

  it('adds nothing when it is repeated, denied or not', () => {
    for (const again of [requestDenied(), request()]) given(history(requestDenied())).when(again).thenNothing();
  });

  it('uses no standing grant', () => {
    const facts = { judged: { verdict: denied, requirement: requirement() }, grants: [grantFacts()] };
    const decision = decideStep(step([allowedCall('a', facts)]));
    expect(decision).toMatchObject({ status: 'accepted', calls: [{ use: null }] });
  });
});

describe('a repeat that the code of the agent denies', () => {
  it.each([
    ['allowed', history(requestAllowed()), null],
    ['waiting for people', history(request()), firstApproval],
    ['approved', history(request(), respond('alice')), null],
  ] as const)('cancels a call that is %s', (_, past, approvalId) => {
    given(past)
      .when(requestDenied())
      .then([cancelled(approvalId)]);
  });

  it.each([
    ['claimed', history(requestAllowed(), claim())],
    ['with other arguments', history(requestAllowed({ actionDigest: 'sha256:other' }))],
  ] as const)('is refused for a call that is recorded %s', (_, past) => {
    given(past).when(requestDenied()).thenRefused('tool-call-mismatch');
  });

  it.each([
    ['ran', history(requestAllowed(), claim(), report())],
    ['was denied by a person', history(request(), deny('alice'))],
    ['expired', history(request(), expire())],
  ] as const)('adds nothing to a call that %s', (_, past) => {
    given(past).when(requestDenied()).thenNothing();
  });

  it('breaks an all-or-nothing batch before it cancels an allowed member, and cancels none of a batch that has begun', () => {
    const batch: Partial<ToolCallProposal> = { batchMode: 'all-or-nothing', batchCallIds: ['tc_1', 'tc_2'] };
    const past = history(requestAllowed(batch));
    const member = stateAfter(past);
    if (member.status !== 'recorded') throw new Error('nothing was requested');
    const ending = { state: 'cancelled', reason: 'no refunds abroad', by: 'agent' };
    expect(neededWord(requestDenied(batch), member)).toEqual({ word: 'break', ending });
    given(past)
      .when({ ...requestDenied(batch), batch: 'begun' })
      .thenRefused('batch-begun');
    given(past)
      .when({ ...requestDenied(batch), batch: 'broken' })
      .then([cancelled(null)]);
  });

  it('is refused with its whole step when the call was claimed', () => {
    const state = stateAfter(history(requestAllowed(), claim()));
    const late = allowedCall('call_1', {
      state,
      of: { callId },
      judged: { verdict: denied, requirement: requirement() },
    });
    expect(decideStep(step([late, allowedCall('b')]))).toMatchObject({ refusal: { code: 'tool-call-mismatch' } });
  });
});
