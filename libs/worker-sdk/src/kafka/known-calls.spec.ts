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
/** Tells the known calls the result of a read. */
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

  it('is never changed by a message: an approval causes one read, true or forged', () => {
    known.hear(event('ApprovalResponded', 2, approve));
    expect(state()).toBeUndefined();
    read();
    expect(state()).toBe('awaiting_approval');
  });

  it.each<[string, HeardEvent]>([
    ['a denial', event('ApprovalResponded', 2, { ...approve, resolution: 'denied', decision: { type: 'deny' } })],
    ['an edit', event('ApprovalResponded', 2, { ...approve, decision: { type: 'edit', arguments: {} } })],
    ['an expiry', event('ApprovalExpired', 2)],
    ['a cancellation', event('ToolCallCancelled', 2)],
    ['an event of a type that is not known', event('ToolCallFrozen', 2)],
    ['an event after a gap', event('ApprovalResponded', 3, approve)],
  ])('is read again after %s', (_what, heard) => {
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
    known.hear(event('ValuesRevealed', 2, {}, 'forged'));
    expect(state()).toBe('awaiting_approval');
    known.hear(event('ApprovalResponded', 2, approve));
    expect(state()).toBeUndefined();
  });

  it('costs one read for any number of forged events before it', () => {
    for (let forged = 0; forged < 10; forged += 1) known.hear(event('ApprovalExpired', 9_000_000, {}, String(forged)));
    read();
    expect(state()).toBe('awaiting_approval');
  });

  it('is read again when more calls than a run can have were heard of, in bounded memory', () => {
    const from = known.now();
    for (let forged = 0; forged <= 10_000; forged += 1)
      known.hear({ ...event('ToolCallAllowed', 1), callId: `tc_${String(forged)}` });
    expect(state()).toBeUndefined();
    known.learn([pending()], from);
    expect(state()).toBeUndefined();
    read();
    expect(state()).toBe('awaiting_approval');
  });

  it('is read again once a claim was refused', () => {
    known.claiming(callId);
    known.doubt(callId);
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
