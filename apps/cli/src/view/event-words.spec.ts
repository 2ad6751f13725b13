import { describe, expect, it } from '@jest/globals';
import { eventTypes } from '@countersign/contracts';
import { approvalOf, eventOf } from '../testing/fixtures.js';
import { eventWords } from './event-words.js';

const saying = (type: string, data: Parameters<typeof eventOf>[3]) => eventWords(eventOf(approvalOf(), type, 1, data));

describe('an event in words', () => {
  it.each([
    ['ToolCallRequested', { agentId: 'a', toolName: 'rm', arguments: { path: '/x' } }, 'a wants rm {"path":"/x"}'],
    ['ToolCallBlocked', { verdict: { ruleId: 'no-prod' }, reason: 'never' }, 'blocked by rule no-prod: never'],
    ['ApprovalRequested', { approvalId: 'apr_1', expiresAt: null }, 'people are asked (apr_1)'],
    [
      'ApprovalResponded',
      {
        decision: { type: 'approve' },
        respondedBy: 'bob',
        via: 'slack',
        reason: 'ok',
        resolution: 'approved',
        instruction: 'verify',
      },
      'bob: approve via slack: ok; instruction: verify → approved',
    ],
    [
      'ApprovalResponded',
      { decision: { type: 'edit', arguments: { a: 1 } }, respondedBy: 'bob', via: 'cli', resolution: 'approved' },
      'bob: edit {"a":1} via cli → approved',
    ],
    [
      'ApprovalResponded',
      { decision: { type: 'deny' }, respondedBy: 'bob', onBehalfOf: 'alice', via: 'cli', resolution: 'denied' },
      'bob for alice: deny via cli → denied',
    ],
    [
      'ApprovalResponded',
      { decision: { type: 'approve' }, automatic: true, via: 'policy', resolution: 'approved' },
      'the policy, by itself: approve via policy → approved',
    ],
    [
      'NotificationFailed',
      { kind: 'requested', channelId: 'mail', recipient: 'bob', reason: '550 User unknown', nextAttemptAt: null },
      'requested to mail (bob) could not be delivered: 550 User unknown',
    ],
    [
      'NotificationFailed',
      {
        kind: 'approved',
        channelId: 'pager',
        recipient: null,
        reason: '503',
        nextAttemptAt: '2026-11-22T10:00:00.000Z',
      },
      'approved: not yet sent to pager (503)',
    ],
    ['ExecutionSucceeded', { output: { ok: true } }, 'output {"ok":true}'],
    ['ExecutionSucceeded', { output: 1, late: 'lease-over' }, 'output 1 (reported after the lease)'],
    ['ExecutionFailed', { error: 'x', late: 'a-newer-word' }, 'error x (a-newer-word)'],
    [
      'ExecutionOutcomeUnknown',
      { reason: 'the lease is over' },
      'the outcome is unknown; a person must reconcile it: the lease is over',
    ],
    [
      'RequestRefused',
      { requestId: 'r-1', code: 'forbidden', detail: 'not yours', toolCallIds: [] },
      'request r-1 was refused (forbidden): not yours',
    ],
    [
      'RunCancelled',
      { runId: 'r', callIds: ['tc_a', 'tc_b'], reason: 'the user left', cancelledBy: 'agent' },
      'agent cancelled the run (2 open calls): the user left',
    ],
    [
      'ApprovalDescribed',
      { describedBy: 'agent', reason: null, description: 'to free space' },
      'agent adds: to free space',
    ],
    ['ToolCallAllowed', { verdict: { ruleId: 'refunds', grantId: 'grn_a' } }, 'allowed by the grant grn_a'],
    [
      'GrantCreated',
      { grantId: 'grn_a', toolName: 'refund_order', createdBy: 'alice', reason: 'a busy week' },
      'alice granted calls of refund_order (grn_a): a busy week',
    ],
    ['FromTheFuture', { a: '\u202e' }, '{"approvalId":"apr_aaaaaaaaaaaaaaaaaaaaaaaaaa_1","a":"⟦U+202E⟧"}'],
  ])('%s', (type, data, words) => {
    expect(saying(type, data)).toBe(words);
  });

  it.each(eventTypes)('%s is told even when its data is not what we know', (type) => {
    expect(saying(type, {})).not.toContain('undefined');
    expect(eventWords({ ...eventOf(approvalOf(), type, 1), data: JSON.parse('null') as never })).not.toContain(
      'undefined',
    );
  });

  it('cuts what is too long for a line of a log, visibly', () => {
    expect(saying('ExecutionSucceeded', { output: 'x'.repeat(1000) })).toContain('…⟦700 more characters⟧');
  });
});
