import { describe, expect, it } from '@jest/globals';
import type { QuotaView } from '@countersign/contracts';
import { quotaLines } from './quota-lines.js';

describe('the quotas that count a call', () => {
  const quota = {
    ...({ quota: 'pendingPerAgent', counts: 'agent', name: 'billing', limit: 2, used: 1, windowMs: null } as const),
    ...{ coolDownUntil: null, identical: null, refusal: null },
  };
  const textOf = (more: Partial<QuotaView>): string =>
    quotaLines({ quotas: [{ ...quota, ...more }] })
      .map(({ text }) => text)
      .join(' ');

  it.each<[string, Partial<QuotaView>]>([
    ['Quota pendingPerAgent of the agent billing: 1 of 2 calls wait for people', {}],
    ['2 denials in a row within 10 min', { quota: 'coolDown', windowMs: 600_000 }],
    ['until 2026-12-01 10:10:00 UTC', { quota: 'coolDown', coolDownUntil: '2026-12-01T10:10:00.000Z' }],
    ['no identical call waits', { quota: 'coalesceIdentical' }],
    [
      'the identical call a (tc_1) waits',
      { quota: 'coalesceIdentical', identical: { callId: 'tc_1', toolCallId: 'a', approvalId: 'apr_1' } },
    ],
    ['refused, too-many-requests: wait', { refusal: { code: 'too-many-requests', detail: 'wait' } }],
  ])('say %s', (text, more) => {
    expect(textOf(more)).toContain(text);
  });

  it('say for which principal they were counted where the call names none', () => {
    const of = (isAssumed: boolean): string =>
      quotaLines({ quotas: [], countedFor: { requestedBy: 'billing', isAssumed } })
        .map(({ text }) => text)
        .join(' ');
    expect(of(true)).toContain('The call names no principal: counted for one of the name billing.');
    expect(of(false)).toBe('');
    expect(quotaLines({ quotas: null })).toEqual([]);
  });
});
