import { describe, expect, test } from '@jest/globals';
import type { ToolCallEvent } from '@countersign/contracts';
import type { Acknowledgement, Journal } from '../traffic/journal.js';
import { audit } from './audit.js';
import { approvedArguments, events, execution, logOf, soundCase } from './history-of-one-call.js';
import type { Entry } from './log.js';

const { requested, asked, approved, claimed, succeeded } = events;

/** The audit's findings about a changed log, with the clients' records of the original one. */
function auditOf(recorded: readonly ToolCallEvent[], journal: Partial<Journal> = {}): string {
  return audit(logOf(recorded), { ...soundCase().journal, ...journal }).join('\n');
}

function told(...more: readonly Acknowledgement[]): Partial<Journal> {
  return { acknowledgements: [...soundCase().journal.acknowledgements, ...more] };
}

test('a sound log has nothing against it', () => {
  const { entries, journal } = soundCase();
  expect(audit(entries, journal)).toEqual([]);
});

describe('an acknowledgement that the log does not bear out', () => {
  test('a request, with all of its call', () => {
    expect(auditOf([])).toContain('"requested" was acknowledged, and the call is not in the log');
  });
  test('an answer', () => {
    const allowed: ToolCallEvent = {
      type: 'ToolCallAllowed',
      data: { verdict: asked.data.verdict, allowedAt: requested.data.requestedAt },
    };
    expect(auditOf([requested, allowed, claimed, succeeded])).toContain(
      '"responded" was acknowledged, and the log has no',
    );
  });
  test('a claim', () => {
    expect(auditOf([requested, asked, approved])).toContain(
      '"claimed" was acknowledged, and the log has no such event',
    );
  });
  test('an outcome', () => {
    expect(auditOf([requested, asked, approved, claimed])).toContain('"reported" was acknowledged, and the log has no');
  });
  test('another outcome than the one reported', () => {
    const other = { ...succeeded, data: { ...succeeded.data, output: { done: false } } };
    expect(auditOf([requested, asked, approved, claimed, other])).toContain('"reported" was acknowledged');
  });
  test('other arguments than the ones requested', () => {
    const swapped = { ...requested, data: { ...requested.data, arguments: { path: '/etc/passwd' } } };
    expect(auditOf([swapped, asked, approved, claimed, succeeded])).toContain('the log has another request');
  });
  test('a state that never was', () => {
    const { callId } = execution;
    const complaints = audit(soundCase().entries, {
      ...soundCase().journal,
      ...told(
        { kind: 'shown', callId, revision: 2, state: 'denied' },
        { kind: 'shown', callId, revision: 9, state: 'succeeded' },
        { kind: 'approval', callId, approvalId: asked.data.approvalId, state: 'expired' },
        { kind: 'cancelled', callId },
        { kind: 'renewed', callId, attempt: 1, leaseUntil: claimed.data.leaseUntil },
        { kind: 'asked', callId, approvalId: asked.data.approvalId, round: 2 },
        { kind: 'reconciled', callId, status: 'retry' },
      ),
    });
    expect(complaints).toHaveLength(7);
  });
});

describe('an execution that had no right to be', () => {
  test('without an approval', () => {
    expect(auditOf([requested, asked, claimed, succeeded])).toContain('came when it was awaiting_approval');
  });
  test('after a denial', () => {
    const denied: ToolCallEvent = {
      type: 'ApprovalResponded',
      data: { ...approved.data, decision: { type: 'deny' }, resolution: 'denied', executeBy: null },
    };
    expect(auditOf([requested, asked, denied, claimed, succeeded])).toContain('came when it was denied');
  });
  test('before the approval', () => {
    expect(auditOf([requested, asked, claimed, approved, succeeded])).toContain('came when it was awaiting_approval');
  });
  test('after executeBy', () => {
    const late = { ...claimed, data: { ...claimed.data, claimedAt: '2026-05-01T12:00:35.000Z' } };
    expect(auditOf([requested, asked, approved, late, succeeded])).toContain('came after executeBy');
  });
  test('of arguments that were changed in the log after the approval', () => {
    const changed = { ...requested, data: { ...requested.data, arguments: { path: '/etc/passwd' } } };
    expect(auditOf([changed, asked, approved, claimed, succeeded])).toContain(
      'is not for the digest of the recorded arguments',
    );
  });
  test('with other arguments than those that were claimed', () => {
    const executions = [{ ...execution, arguments: { ...approvedArguments, amount: 300 } }];
    expect(auditOf(Object.values(events), { executions })).toContain('without a claim of these arguments');
  });
  test('outside, with nothing in the log', () => {
    const executions = [{ ...execution, callId: 'tc_bbbbbbbbbbbbbbbbbbbbbbbbbb' }];
    expect(auditOf(Object.values(events), { executions })).toContain('ran and is not in the log');
  });
  test('outside, before the claim was recorded', () => {
    const executions = [{ ...execution, atMs: Date.parse(claimed.data.claimedAt) - 1 }];
    expect(auditOf(Object.values(events), { executions })).toContain(
      'without a claim of these arguments recorded before',
    );
  });
  test('a second time', () => {
    const executions = [execution, { ...execution, atMs: execution.atMs + 5 }];
    const complaints = auditOf(Object.values(events), { executions });
    expect(complaints).toContain('is not idempotent and ran 2 times, 1 allowed');
    expect(complaints).toContain('ran twice under one claim');
  });
  test('a second time, by a service tool whose process was killed', () => {
    const executions = [execution, execution].map((one) => ({ ...one, by: 'module' as const, attempt: null }));
    expect(auditOf(Object.values(events), { executions })).toContain('is not idempotent and ran 2 times');
  });
  test('never, though it is recorded as succeeded', () => {
    expect(auditOf(Object.values(events), { executions: [] })).toContain('recorded as succeeded and never ran');
  });
  test('before its all-or-nothing batch is complete', () => {
    const sibling = 'tc_cccccccccccccccccccccccccc';
    const inBatch = {
      ...requested,
      data: {
        ...requested.data,
        batchMode: 'all-or-nothing' as const,
        batchCallIds: [requested.data.callId, sibling],
      },
    };
    expect(auditOf([inBatch, asked, approved, claimed, succeeded])).toContain(
      `claimed while its sibling ${sibling} was not recorded`,
    );
  });
  test('claimed again without a person saying so', () => {
    const lapsed: ToolCallEvent = {
      type: 'ExecutionLapsed',
      data: { attempt: 1, lapsedAt: claimed.data.leaseUntil },
    };
    expect(auditOf([requested, asked, approved, claimed, lapsed])).toContain('although it is not idempotent');
  });
});

describe('an approval that ended twice or at the wrong time', () => {
  test('approved twice', () => {
    expect(auditOf([requested, asked, approved, approved, claimed, succeeded])).toContain('is resolved twice');
  });
  test('answered after its deadline', () => {
    const late = { ...approved, data: { ...approved.data, respondedAt: '2026-05-01T12:00:30.000Z' } };
    expect(auditOf([requested, asked, late, claimed, succeeded])).toContain('was answered too late');
  });
  test('expired before its deadline', () => {
    const { approvalId } = asked.data;
    const early: ToolCallEvent = {
      type: 'ApprovalExpired',
      data: { approvalId, expiredAt: '2026-05-01T12:00:29.999Z' },
    };
    expect(auditOf([requested, asked, early])).toContain('expired before its deadline');
  });
});

describe('a log that is not whole', () => {
  const { entries, journal } = soundCase();
  const changed = (change: (entry: Entry, index: number) => Partial<Entry>): string =>
    audit(
      entries.map((entry, index) => ({ ...entry, ...change(entry, index) })),
      journal,
    ).join('\n');

  test('a revision left out', () => {
    expect(changed(({ revision }, index) => ({ revision: index > 1 ? revision + 1 : revision }))).toContain(
      'goes on with revision 3 instead of 2',
    );
  });
  test('positions that do not grow', () => {
    expect(changed(({ position }) => ({ position: Math.min(position, 3) }))).toContain('position 3 follows 3');
  });
  test('an event id used twice', () => {
    expect(changed(() => ({ eventId: 'event-0' }))).toContain('is recorded twice');
  });
  test('a call without an end', () => {
    expect(auditOf([requested, asked])).toContain('has not ended: it is awaiting_approval');
  });
});

test('an unexpected answer to a client is a complaint', () => {
  expect(auditOf(Object.values(events), { surprises: ['a 500'] })).toContain('a client was surprised: a 500');
});
