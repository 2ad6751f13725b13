import { approved, asked, claimed, requested, rowAfter } from './testing/row-after.js';
import type { Step } from './testing/row-after.js';
import { minuteMs, requirement } from './testing/test-log.js';

describe('the next deadline', () => {
  const reminded = { requirement: requirement({ remindersMs: [20 * 60_000, 10 * 60_000] }) };

  it.each<[string, number | null, readonly Step[]]>([
    ['the expiry of a pending approval', 60, asked],
    ['the first reminder, in any order', 10, [requested, ['ApprovalRequested', reminded]]],
    ['the next reminder', 20, [requested, ['ApprovalRequested', reminded], ['ApproversReminded']]],
    [
      'the expiry after the last reminder',
      60,
      [requested, ['ApprovalRequested', reminded], ['ApproversReminded', { nth: 2 }]],
    ],
    ['the new expiry after an escalation', 80, [...asked, ['ApprovalEscalated']]],
    ['none when held open', null, [...asked, ['ApprovalEscalated', { expiresAt: null, to: [] }]]],
    ['none when it never expires', null, [requested, ['ApprovalRequested', { expiresAt: null }]]],
    ['executeBy once approved', 65, approved],
    ['none for a right to run without end', null, [...asked, ['ApprovalResponded', { executeBy: null }]]],
    ['none when allowed', null, [requested, ['ToolCallAllowed']]],
    ['the end of the lease', 9, claimed],
    ['the end of the renewed lease', 12, [...claimed, ['ExecutionClaimRenewed']]],
    ['none after a released claim', null, [...claimed, ['ExecutionLapsed']]],
    ['none when settled', null, [...claimed, ['ExecutionSucceeded']]],
    [
      'none after a denial',
      null,
      [...asked, ['ApprovalResponded', { decision: { type: 'deny' }, resolution: 'denied' }]],
    ],
    ['none before there is a verdict', null, [requested]],
  ])('is %s', (_, minutes, steps) => {
    expect(rowAfter(...steps).dueAt).toBe(minutes === null ? null : minuteMs(minutes));
  });
});
