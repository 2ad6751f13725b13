import { describe, expect, it } from '@jest/globals';
import { byDeadline, byRisk, stepOf, together } from './list-order.js';
import type { ListedApproval } from './list-order.js';

const one = (approvalId: string, more: Partial<ListedApproval> = {}): ListedApproval => ({
  ...{ approvalId, requestedBy: 'agent', runId: 'run-1', batch: null, risk: null, expiresAt: null },
  ...more,
});
const ids = (approvals: readonly ListedApproval[]) => approvals.map(({ approvalId }) => approvalId).join('');

describe('a list', () => {
  const soon = '2026-11-22T10:01:00.000Z';
  const late = '2026-11-22T10:30:00.000Z';
  const approvals = [
    one('a'),
    one('b', { risk: 'low', expiresAt: soon }),
    one('c', { risk: 'high' }),
    one('d', { risk: 'high', expiresAt: late }),
    one('e', { expiresAt: late }),
    one('f', { risk: 'medium' }),
  ];

  it('goes by risk and then by deadline, or the other way round; without a deadline comes last', () => {
    expect(ids(approvals.toSorted(byRisk))).toBe('dcfbea');
    expect(ids(approvals.toSorted(byDeadline))).toBe('bdecfa');
  });

  it('has the calls of a step together, and no step of another run or principal with them', () => {
    const batch = { batchId: 's', callIds: ['x', 'y'] };
    const listed = [
      one('a', { batch }),
      one('b'),
      one('c', { batch, runId: 'run-2' }),
      one('d', { batch, requestedBy: 'other' }),
      one('e', { batch }),
      one('f', { batch: { ...batch, batchId: null } }),
      one('g', { batch: { ...batch, batchId: null } }),
    ];
    expect([...together(listed, stepOf).values()].map(ids)).toEqual(['ae', 'b', 'c', 'd', 'fg']);
  });
});
