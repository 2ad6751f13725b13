import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ToolCallView } from '@countersign/contracts';
import type { HeardEvent } from './heard-event.js';
import { createKnownCalls, knownMsMax, type KnownCalls } from './known-calls.js';

const callId = 'tc_a';
const approval = {
  approvalId: 'apr_a_1',
  state: 'pending',
  responses: [],
  requirement: { stages: [{}] },
  progress: [{ approvedBy: [], deniedBy: [], missing: 1, missingOf: null }],
};
const pending = (more: object = {}): ToolCallView =>
  ({
    callId,
    runId: 'run-1',
    actionDigest: 'sha256:1',
    state: 'awaiting_approval',
    revision: 1,
    instruction: null,
    approval,
    ...more,
  }) as unknown as ToolCallView;
const approve = {
  approvalId: 'apr_a_1',
  actionDigest: 'sha256:1',
  decision: { type: 'approve' },
  resolution: 'approved',
  respondedBy: 'ann',
  onBehalfOf: null,
  reason: 'seen',
  instruction: 'then look again',
  respondedAt: '2026-01-01T00:00:00.000Z',
  via: 'api',
};
const event = (
  type: string,
  revision: number,
  data: Record<string, unknown> = {},
  eventId = `e-${String(revision)}`,
): HeardEvent => ({
  eventId,
  type,
  callId,
  runId: 'run-1',
  toolCallId: 'a',
  toolName: 't',
  agentId: 'g',
  revision,
  data,
});

let nowMs = 0;
let known: KnownCalls;
beforeEach(() => {
  nowMs = 0;
  known = createKnownCalls({ monotonic: () => nowMs });
  known.follow('run-1');
  known.learn([pending()], known.now());
});
const state = (): string | undefined => known.get(callId)?.state;
/** What a read does. */
const read = (view: ToolCallView = pending()): void => {
  known.learn([view], known.now());
};

describe('a call that the ledger has shown', () => {
  it('is known until something is heard about it', () => {
    expect(state()).toBe('awaiting_approval');
    known.hear({ ...event('ApprovalExpired', 2), callId: 'tc_other' });
    known.hear({ ...event('ApprovalExpired', 2), runId: 'run-2' });
    expect(state()).toBe('awaiting_approval');
  });

  it('is approved by the one message of its approval, without a read', () => {
    known.hear(event('ApprovalResponded', 2, approve));
    const view = known.get(callId);
    expect(view).toMatchObject({
      state: 'approved',
      // Of the ledger's last word.
      revision: 1,
      instruction: 'then look again',
      approval: { state: 'approved', resolution: 'approved', responses: [{ respondedBy: 'ann', reason: 'seen' }] },
    });
    expect(view !== undefined && known.isRumour(view)).toBe(true);
    expect(known.isRumour(pending())).toBe(false);
  });

  it.each<[string, HeardEvent, object?]>([
    ['a denial', event('ApprovalResponded', 2, { ...approve, resolution: 'denied', decision: { type: 'deny' } })],
    ['an edit', event('ApprovalResponded', 2, { ...approve, decision: { type: 'edit', arguments: {} } })],
    ['the first of several approvals', event('ApprovalResponded', 2, { ...approve, resolution: 'pending' })],
    ['an approval of another digest', event('ApprovalResponded', 2, { ...approve, actionDigest: 'sha256:2' })],
    ['an approval of another question', event('ApprovalResponded', 2, { ...approve, approvalId: 'apr_a_2' })],
    [
      'an approval after other responses',
      event('ApprovalResponded', 2, approve),
      { approval: { ...approval, responses: [{}] } },
    ],
    ['an approval of a call that the client runs', event('ApprovalResponded', 2, approve), { clientExecuted: true }],
    ['a call without an approval', event('ApprovalResponded', 2, approve), { approval: null }],
    ['an expiry', event('ApprovalExpired', 2)],
    ['a cancellation', event('ToolCallCancelled', 2)],
    ['an event of a type that is not known', event('ToolCallFrozen', 2)],
    ['an event after a gap', event('ApprovalResponded', 3, approve)],
  ])('is read again after %s', (_what, heard, view = {}) => {
    read(pending(view));
    known.hear(heard);
    expect(state()).toBeUndefined();
    read();
    expect(state()).toBe('awaiting_approval');
  });

  it('is not read again after events that change nothing, duplicates, and events of other streams', () => {
    known.hear(event('ToolCallRequested', 0));
    known.hear(event('ApprovalRequested', 1));
    known.hear(event('ValuesRevealed', 2));
    known.hear(event('ValuesRevealed', 2));
    known.hear(event('BatchBegun', 7));
    known.hear(event('ToolCallShadowJudged', 3));
    expect(state()).toBe('awaiting_approval');
    known.hear(event('ApprovalResponded', 4, approve));
    known.hear(event('ApprovalResponded', 4, approve));
    known.hear(event('ValuesRevealed', 2));
    expect(state()).toBeUndefined();
  });

  it('is read again when two events claim the same place: one of them is forged', () => {
    known.hear(event('ApprovalResponded', 2, approve, 'forged'));
    expect(state()).toBe('approved');
    known.hear(event('ApprovalExpired', 2));
    expect(state()).toBeUndefined();
  });

  it('costs one read for any number of forged events before it', () => {
    for (let forged = 0; forged < 10; forged += 1) known.hear(event('ApprovalExpired', 9_000_000, {}, String(forged)));
    read();
    expect(state()).toBe('awaiting_approval');
    known.hear(event('ApprovalResponded', 2, approve));
    expect(state()).toBe('approved');
  });

  it('is read after each event once a claim was refused, so that a forged approval does not hide the true one', () => {
    known.hear(event('ApprovalResponded', 2, approve, 'forged'));
    known.distrust(callId);
    expect(state()).toBeUndefined();
    read();
    known.hear(event('ApprovalResponded', 2, approve));
    expect(state()).toBeUndefined();
  });

  it('is read again when an event came while it was read', () => {
    const from = known.now();
    known.hear(event('ApprovalResponded', 2, approve));
    known.learn([pending()], from);
    expect(state()).toBeUndefined();
  });

  it('is not read again when the read already had the event that came meanwhile', () => {
    const from = known.now();
    known.hear(event('ApprovalRequested', 1));
    known.learn([pending()], from);
    expect(state()).toBe('awaiting_approval');
  });

  it('keeps the newest of two reads', () => {
    read(pending({ state: 'approved', revision: 2 }));
    read();
    expect(state()).toBe('approved');
  });

  it('is read again after a gap, after a message that is no event, and when nothing was heard for long', () => {
    known.gap();
    expect(state()).toBeUndefined();
    read();
    known.doubtRun('run-1');
    expect(state()).toBeUndefined();
    read();
    nowMs = knownMsMax + 1;
    expect(state()).toBeUndefined();
  });

  it('is not read while this worker runs it, although its own events are heard', () => {
    known.claiming(callId);
    known.hear(event('ExecutionClaimed', 2));
    expect([state(), known.claimedArguments(callId)]).toEqual(['awaiting_approval', undefined]);
    known.claimed(callId, { a: 1 });
    known.hear(event('ExecutionSucceeded', 3));
    expect([state(), known.claimedArguments(callId)]).toEqual(['awaiting_approval', { a: 1 }]);
    known.released(callId);
    expect([state(), known.claimedArguments(callId)]).toEqual([undefined, undefined]);
  });
});

it('a call is read again after a gap during its first read', () => {
  known.follow('run-3');
  const from = known.now();
  known.gap();
  const view = pending({ callId: 'tc_c', runId: 'run-3' });
  known.learn([view], from);
  expect(known.get('tc_c')).toBeUndefined();
  known.learn([view], known.now());
  expect(known.get('tc_c')).toBe(view);
});

it('calls of a run that was not followed before the read are not known: something may have been missed', () => {
  known.learn([pending({ callId: 'tc_b', runId: 'run-2' })], known.now());
  expect(known.get('tc_b')).toBeUndefined();
});

it('follows a thousand runs, and forgets the one that was used longest ago', () => {
  for (let run = 0; run < 1000; run += 1) known.follow(`other-${String(run)}`);
  expect([known.follows('run-1'), known.follows('other-0'), state()]).toEqual([false, true, undefined]);
});
