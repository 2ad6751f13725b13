import { describe, expect, it } from '@jest/globals';
import { callToSettle, closingOf, concernsBatch, neededWord, settlementOf, standingIn } from './batch.settlement.js';
import type { BatchBound, BrokenBatch } from './batch.settlement.js';
import type { ToolCallCommand, ToolCallProposal } from './tool-call.commands.js';
import { initialState } from './tool-call.state.js';
import type { ToolCall } from './tool-call.state.js';
import {
  ask,
  callId,
  cancel,
  claim,
  deny,
  expire,
  lapseApproval,
  minute,
  request,
  requestAllowed,
  requestBlocked,
  respond,
} from './testing/fixtures.js';
import { history, stateAfter } from './testing/given.js';

const siblingId = 'tc_bbbbbbbbbbbbbbbbbbbbbbbbbb';
const batch = { batchId: 'step-1', batchMode: 'all-or-nothing' as const, batchCallIds: [callId, siblingId] };
const after = (...commands: readonly ToolCallCommand[]): ToolCall => {
  const state = stateAfter(history(...commands));
  if (state.status !== 'recorded') throw new Error('nothing is recorded');
  return state;
};
const allowed = after(requestAllowed(batch));
const waiting = after(request({}, batch));
const approved = after(request({}, batch), respond('alice'));
const late = after(requestAllowed(batch), ask());
const denied = after(request({}, batch), deny('alice', { reason: 'too much' }));
const broken: BrokenBatch = {
  ...{ status: 'broken', callIds: [callId, siblingId], callId: siblingId },
  ...{ state: 'denied', reason: 'too much', brokenBy: 'alice' },
};

describe('the word that a command needs of its batch', () => {
  const cases: readonly (readonly [string, BatchBound, ToolCall, string])[] = [
    ['a claim: it has begun', claim(), allowed, 'begin'],
    ['a claim of a call that waits: nothing, it is refused', claim(), waiting, 'nothing'],
    ['the cancellation of an allowed call: it is broken', cancel(), allowed, 'break'],
    ['the cancellation of a call that waits: nothing', cancel(), waiting, 'nothing'],
    ['a denial of a call that was allowed: it is broken', deny('alice'), late, 'break'],
    ['a denial of a call that waits: nothing', deny('alice'), waiting, 'nothing'],
    ['a question: what was said', ask(), allowed, 'look'],
    ['the end of the right to run: it is broken', lapseApproval(minute(70)), approved, 'break'],
    ['a claim after that end: what was said', claim({ at: minute(70) }), approved, 'look'],
    ['the expiry of a call that waits: nothing', expire(), waiting, 'nothing'],
  ];
  it.each(cases)('%s', (_, command, call, word) => {
    expect(neededWord(command, call).word).toBe(word);
  });

  it('names the end of the member that breaks it', () => {
    expect(neededWord(deny('alice', { reason: 'too much' }), late)).toEqual({
      word: 'break',
      ending: { state: 'denied', reason: 'too much', by: 'alice' },
    });
  });

  it('is none for a call alone, and none after the call has recorded the begin', () => {
    expect(neededWord(claim(), after(requestAllowed())).word).toBe('nothing');
    expect(neededWord(cancel(), { ...allowed, committed: true }).word).toBe('nothing');
  });
});

describe('the standing of another member', () => {
  const sibling = (change: Partial<ToolCallProposal> = {}) =>
    after(requestAllowed({ ...batch, callId: siblingId, toolCallId: 'call_2', ...change }));

  it('is that of its stream', () => {
    expect(standingIn(sibling(), allowed)).toBe('permitted');
    expect(standingIn(denied, allowed)).toBe('ended');
  });

  it.each([
    ['nothing is recorded', initialState()],
    ['it cannot be read', null],
    ['another principal requested it', sibling({ requestedBy: 'mallory' })],
    ['another tenant has it', sibling({ tenant: 'other' })],
    ['it was recorded with another list', sibling({ batchCallIds: [callId, siblingId, 'tc_third'] })],
    ['it was recorded as independent', sibling({ batchMode: 'independent' })],
  ])('is missing where %s', (_, state) => {
    expect(standingIn(state, allowed)).toBe('missing');
  });
});

describe('bringing a batch in line with a call', () => {
  it('breaks it where the call ended without having run, and does nothing while all are open', () => {
    expect(settlementOf(denied, { status: 'open' })).toEqual({
      step: 'break',
      ending: { state: 'denied', reason: 'too much', by: 'alice' },
    });
    expect(settlementOf(allowed, { status: 'open' }).step).toBe('none');
  });

  it('closes the question that came too late for a batch that has begun', () => {
    expect(settlementOf(late, { status: 'begun' }).step).toBe('close-question');
    expect(settlementOf(waiting, { status: 'begun' }).step).toBe('none');
  });

  it('closes the open members of a broken one', () => {
    expect(settlementOf(allowed, broken)).toEqual({ step: 'close-members', fate: broken });
  });

  it('concerns members that ended or were asked about late', () => {
    expect([denied, late, allowed, waiting].map(concernsBatch)).toEqual([true, true, false, false]);
    expect(concernsBatch(after(request(), deny('alice')))).toBe(false);
  });

  it('is due after a request whose batch may have broken before all of it was recorded', () => {
    expect(callToSettle([initialState()], [allowed])).toBeUndefined();
    expect(callToSettle([initialState()], [allowed, after(requestBlocked())])).toBeUndefined();
    expect(callToSettle([initialState(), allowed], [allowed])).toBe(allowed);
    expect(callToSettle([allowed], [denied])).toBe(denied);
  });
});

describe('closing a member of a broken batch', () => {
  it('cancels it in the name of the one that broke the batch', () => {
    expect(closingOf(allowed, allowed, broken, minute(6))).toMatchObject({
      ...{ type: 'CancelToolCall', cancelledBy: 'countersign', batch: 'broken' },
      reason: `the call ${siblingId} of the same all-or-nothing batch was denied`,
    });
  });

  it('ends the one that broke it as its own process meant it to', () => {
    const own = { ...broken, callId };
    expect(closingOf(late, late, own, minute(6))).toMatchObject({ cancelledBy: 'alice', reason: 'too much' });
    const lapsed = { ...own, state: 'expired' } as const;
    expect(closingOf(approved, approved, lapsed, minute(70))).toMatchObject({ type: 'LapseApproval', batch: 'broken' });
  });

  it('never touches a call of another principal', () => {
    const foreign = after(requestAllowed({ ...batch, requestedBy: 'mallory' }));
    expect(closingOf(foreign, allowed, broken, minute(6))).toMatchObject({ refusal: { code: 'forbidden' } });
  });
});
