import { describe, expect, it } from '@jest/globals';
import type { ApprovalView } from '@countersign/contracts';
import { inOrder, linesOf, ofTab } from './order.js';
import type { Line } from './order.js';

const one = (approvalId: string, more: Partial<ApprovalView> = {}): ApprovalView =>
  ({
    approvalId,
    requestedBy: 'agent',
    runId: 'run-1',
    batch: null,
    risk: null,
    expiresAt: null,
    ...more,
  }) as ApprovalView;
const ids = (approvals: readonly ApprovalView[]) => approvals.map(({ approvalId }) => approvalId).join('');
const minute = (n: number) => `2026-11-22T10:${String(n).padStart(2, '0')}:00.000Z`;
const words = (lines: readonly Line[]) =>
  lines.map((line) => (line.kind === 'approval' ? line.approval.approvalId : `[${ids(line.of)}]`)).join(' ');

describe('the list', () => {
  it('is parted by what the server says of the person', () => {
    const approvals = [
      one('a', { mayDecide: { now: true } }),
      one('b', { mayDecide: { now: false, why: 'already-voted', detail: '' } }),
      one('c'),
    ];
    expect(['mine', 'others', 'all'].map((tab) => ids(ofTab(approvals, tab as 'mine')))).toEqual(['ac', 'b', 'abc']);
  });

  it('has the highest risk first, within one the first to expire, and without an end last', () => {
    const approvals = [
      one('a'),
      one('b', { risk: 'low', expiresAt: minute(1) }),
      one('c', { risk: 'high' }),
      one('d', { risk: 'high', expiresAt: minute(30) }),
      one('e', { expiresAt: minute(5) }),
      one('f'),
    ];
    expect(ids(inOrder(approvals, 'risk'))).toBe('dcbeaf');
    expect(ids(inOrder(approvals, 'deadline'))).toBe('bedcaf');
    expect(ids(inOrder(approvals, 'oldest'))).toBe('abcdef');
  });

  it('has what belongs together under one heading, and keeps steps and runs of other principals apart', () => {
    const step: ApprovalView['batch'] = { batchId: 's', mode: 'independent', callIds: [] };
    const approvals = [
      one('a', { batch: step }),
      one('b', { runId: 'run-2' }),
      one('c', { batch: step }),
      one('d', { batch: step, requestedBy: 'other' }),
      one('e', { runId: 'run-2' }),
    ];
    expect(words(linesOf(approvals, 'step'))).toBe('[ac] a c b d e');
    expect(words(linesOf(approvals, 'run'))).toBe('[ac] a c [be] b e d');
    expect(words(linesOf(approvals, 'none'))).toBe('a b c d e');
  });
});
