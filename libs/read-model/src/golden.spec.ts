import { describe, expect, it } from '@jest/globals';
import { progressOf, toolCallRules } from '@countersign/domain';
import type { ToolCall } from '@countersign/domain';
import { readGoldenLog } from './testing/golden-log.js';

/** A log that a process of schema version 1 wrote: edits, rounds, escalations, silence, batches, grants, executions. */
const { callOf, claimable, shownOf } = readGoldenLog('version-1');

function respondAs(run: string, principal: string, groups: readonly string[]) {
  const row = callOf(run);
  return toolCallRules.respondToApproval(
    {
      ...{ type: 'RespondToApproval', at: Date.parse('2026-11-27T11:55:00.000Z'), decision: { type: 'approve' } },
      approvalId: row.approvals.at(-1)?.approvalId ?? '',
      ...{ proposalDigest: null, actionDigest: null, reason: null, instruction: null },
      responder: { principal, groups, via: 'api', assurance: 'medium' },
    },
    row as unknown as ToolCall,
  );
}

describe('a log of version 1', () => {
  it('folds to calls of which only these may run, with these arguments', () => {
    expect(claimable()).toEqual([
      ['edit-asked-again-and-approved', { to: 'other' }],
      ['silence', { to: 'team' }],
      ['escalated-then-edited-by-managers', { amount: 7 }],
      ['escalated-and-approved', { amount: 5 }],
      ['editor-withdrew-and-others-approved', { to: 'other' }],
      ['answer-withdrawn', { to: 'supplier' }],
      ['raised-and-approved', { amount: 5000 }],
      ['withdrawn-instruction', { to: 'supplier' }],
      ['unknown-and-retried', { a: 1 }],
      ['lapsed-claim', { a: 1 }],
      ['allowed', { a: 1 }],
      ['batch-begun', { id: 'z' }],
      ['granted', { a: 1 }],
      ['granted-by-two', { a: 1 }],
    ]);
  });

  it.each([
    ['an edit of one person, in a later round', 'edit-approved-by-silence', 'expired'],
    ['a request that was denied before', 'denied-then-silence', 'expired'],
  ])('does not let run what silence approved: %s', (_, run, state) => {
    expect(shownOf(run)).toMatchObject({ state, approval: { state, round: 2 } });
  });

  it('keeps no instruction of a withdrawn vote or of an expired round, and those of the votes that counted', () => {
    expect(shownOf('withdrawn-instruction').instruction).toBeNull();
    expect(shownOf('edit-asked-again').instruction).toBeNull();
    expect(shownOf('edit-approved-and-run')).toMatchObject({ state: 'succeeded', instruction: 'verify' });
  });

  it('shows the request until an edit is approved', () => {
    expect(shownOf('raised')).toMatchObject({ arguments: { amount: 5 }, approval: { arguments: { amount: 5000 } } });
    expect(shownOf('raised-and-approved')).toMatchObject({ arguments: { amount: 5000 } });
  });

  it('opens no seat of the stricter rule by the escalation of the other one', () => {
    expect(respondAs('edit-escalated', 'mia', ['managers'])).toMatchObject({ refusal: { code: 'not-an-approver' } });
    expect(respondAs('edit-escalated', 'carol', ['security'])).toMatchObject({
      events: [{ data: { resolution: 'approved' } }],
    });
  });

  it.each(['raised', 'raised-then-edited-again'])('asks the people of both rules about an edit: %s', (run) => {
    const [approval] = callOf(run).approvals;
    const missing = approval === undefined ? [] : progressOf(approval).map((stage) => stage.missingOf);
    expect(missing.at(-1)).toEqual(['security']);
    expect(claimable().map(([one]) => one)).not.toContain(run);
  });

  it('says who proposed what is asked, also where an older version asked about an edit again', () => {
    expect(shownOf('lapsed').approval).toMatchObject({ state: 'pending', arguments: { a: 2 } });
    expect(shownOf('lapsed').approval?.proposal).toMatchObject({ number: 1, proposedBy: 'alice' });
    expect(shownOf('editor-withdrew').approval?.proposal).toMatchObject({ number: 2, proposedBy: 'alice' });
  });

  it('keeps what ran as it ran', () => {
    expect(shownOf('answered')).toMatchObject({ state: 'succeeded', output: 'done' });
    expect(shownOf('renewed')).toMatchObject({ state: 'failed' });
    expect(shownOf('batch-begun')).toMatchObject({ state: 'executing', arguments: { id: 'x' } });
    expect(shownOf('batch-broken', 1)).toMatchObject({ state: 'denied' });
  });
});
