import { describe, expect, it } from '@jest/globals';
import type { QuotaView } from '@countersign/contracts';
import { quotaLines } from './quota-lines.js';

describe('the quotas that count a call', () => {
  const quota = {
    ...({ quota: 'pendingPerAgent', counts: 'agent', name: 'billing', limit: 2, used: 1, windowMs: null } as const),
    ...{ coolDownUntil: null, identical: null, refusal: null },
  };
  const textOf = (more: Partial<QuotaView>): string =>
    quotaLines([{ ...quota, ...more }])
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
});
