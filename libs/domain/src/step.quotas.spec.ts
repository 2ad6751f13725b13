import { describe, expect, it } from '@jest/globals';
import { overQuota, quotaFindings } from './step.questions.js';
import {
  ask,
  firstApproval,
  minute,
  minuteMs,
  request,
  requestAllowed,
  secondApproval,
  startMs,
  stored,
  verdict,
} from './testing/fixtures.js';
import { given, history } from './testing/given.js';
import { before, question, quotas, waiting } from './testing/quota-fixtures.js';

describe('pendingPerAgent', () => {
  const twoPending = (pending: number) => quotas({ pendingPerAgent: 2 }, before({ pending }));

  it('refuses what goes beyond it, whole, and says when to come again', () => {
    expect(overQuota(twoPending(1), [question('b'), question('d')], startMs)).toEqual({
      code: 'too-many-requests',
      detail:
        'the policy allows 2 calls of an agent that wait for people. The agent "agent" has 1, ' +
        'and this request has 2: wait until people have decided',
      extra: { retryAfterMs: 60_000 },
    });
  });

  it('allows as many as are left, and any number of calls without an approval', () => {
    expect(overQuota(twoPending(1), [question('b')], startMs)).toBeUndefined();
    expect(overQuota(twoPending(2), [], startMs)).toBeUndefined();
  });

  it('counts for the principal as well, where that is counted', () => {
    const facts = quotas({ pendingPerAgent: 2 }, before(), before({ counted: { requestedBy: 'worker' }, pending: 2 }));
    expect(overQuota(facts, [question('a')], startMs)).toMatchObject({
      code: 'too-many-requests',
      detail: expect.stringContaining('The principal "worker" has 2'),
    });
  });

  it('names the principal whose agent it is', () => {
    const facts = quotas(
      { pendingPerAgent: 2 },
      before({ counted: { requestedBy: 'worker', agentId: 'agent' }, pending: 2 }),
    );
    expect(overQuota(facts, [question('a')], startMs)?.detail).toContain('The agent "agent" of "worker" has 2');
  });

  it('fails closed in a process that cannot count', () => {
    const facts = { ...twoPending(0), before: null };
    expect(overQuota(facts, [question('a')], startMs)).toMatchObject({ code: 'unavailable' });
    expect(overQuota(facts, [], startMs)).toBeUndefined();
    expect(quotaFindings(facts, [question('a')], startMs)).toEqual([]);
  });

  it('is no quota where the policy has none', () => {
    expect(overQuota(null, [question('a')], startMs)).toBeUndefined();
  });
});

describe('the cool-down', () => {
  const after = (...deniedAt: readonly number[]) =>
    quotas({ coolDown: { denials: 3, ms: 10 * minuteMs } }, before({ deniedAt: deniedAt.map(stored) }));

  it('follows so many denials in a row, and ends', () => {
    expect(overQuota(after(2, 1, 0), [question('d')], minute(3))).toMatchObject({
      code: 'too-many-requests',
      detail: expect.stringContaining('3 calls of the agent "agent" were denied in a row'),
      extra: { retryAfterMs: 9 * minuteMs },
    });
    expect(overQuota(after(2, 1, 0), [question('d')], minute(12))).toBeUndefined();
  });

  it('ignores calls without an approval', () => {
    expect(overQuota(after(2, 1, 0), [], minute(3))).toBeUndefined();
  });

  it('needs all of its denials', () => {
    expect(overQuota(after(2, 1), [question('d')], minute(3))).toBeUndefined();
    expect(overQuota(after(), [question('d')], minute(3))).toBeUndefined();
  });

  it('does not count denials that lie further apart than it lasts', () => {
    expect(overQuota(after(12, 1, 0), [question('d')], minute(12))).toBeUndefined();
  });
});

describe('coalesceIdentical', () => {
  const during = (...calls: readonly ReturnType<typeof waiting>[]) =>
    quotas({ coalesceIdentical: true }, before({ waiting: new Map([['mail', calls]]) }));
  const toAnn = { arguments: { to: 'ann' } };

  it('refuses a second identical call while people are asked, and names the first', () => {
    expect(overQuota(during(waiting('a', toAnn)), [question('b', toAnn)], startMs)).toEqual({
      code: 'already-pending',
      detail: 'people are asked about the identical call "a" (id-of-a) of this run: wait for its result',
      extra: { callId: 'id-of-a', toolCallId: 'a', approvalId: 'approval-of-a' },
    });
  });

  it('lets other arguments, another tool, and the same ones after the decision, be asked', () => {
    expect(overQuota(during(waiting('a', toAnn)), [question('b')], startMs)).toBeUndefined();
    expect(overQuota(during(waiting('a', toAnn)), [question('b', { ...toAnn, toolName: 'fax' })], startMs)).toBe(
      undefined,
    );
    expect(overQuota(during(), [question('b', toAnn)], startMs)).toBeUndefined();
  });

  it('tells a principal nothing of the calls of another', () => {
    const facts = during(waiting('a', { ...toAnn, requestedBy: 'other' }));
    expect(overQuota(facts, [question('b', toAnn)], startMs)).toBeUndefined();
  });

  it('tells an admin who asks about the call of another nothing of hidden values', () => {
    const admin = { ...toAnn, requestedBy: null };
    const hides = { hidesValues: true };
    const codeOf = (one: object, other: object) =>
      overQuota(during(waiting('a', { ...toAnn, ...one })), [question('b', { ...admin, ...other })], startMs)?.code;
    expect(codeOf({}, {})).toBe('already-pending');
    expect([codeOf(hides, {}), codeOf({}, hides), codeOf(hides, hides)]).toEqual([undefined, undefined, undefined]);
  });

  it('does not concern a repeat of the same call', () => {
    expect(overQuota(during(waiting('a')), [question('a')], startMs)).toBeUndefined();
  });

  it('refuses identical calls of one request', () => {
    const identity = 'mail to ann';
    expect(overQuota(during(), [question('a', { identity }), question('b', { identity })], startMs)).toEqual({
      code: 'already-pending',
      detail: 'the calls "a" and "b" of this request are identical: ask once',
    });
  });

  it('refuses what it cannot compare', () => {
    const facts = quotas({ coalesceIdentical: true }, before({ waiting: new Map([['mail', null]]) }));
    expect(overQuota(facts, [question('a')], startMs)).toMatchObject({
      code: 'too-many-requests',
      detail: 'too many calls of the tool "mail" wait for people in this run to be compared',
    });
  });
});

describe('the findings of the quotas', () => {
  it('are one for each quota and each counted name, with what is used', () => {
    const limits = { pendingPerAgent: 5, coolDown: { denials: 3, ms: minuteMs }, coalesceIdentical: true };
    const facts = quotas(
      limits,
      before({ pending: 1, deniedAt: [stored(0)] }),
      before({ counted: { requestedBy: 'worker' } }),
    );
    const findings = quotaFindings(facts, [question('a')], startMs);
    expect(findings.map(({ quota, limit, used, windowMs }) => [quota, limit, used, windowMs])).toEqual([
      ['coolDown', 3, 1, minuteMs],
      ['coalesceIdentical', 1, 0, null],
      ['pendingPerAgent', 5, 1, null],
      ['coolDown', 3, 0, minuteMs],
      ['coalesceIdentical', 1, 0, null],
      ['pendingPerAgent', 5, 0, null],
    ]);
    expect(findings.every(({ refusal }) => refusal === undefined)).toBe(true);
  });
});

describe('a later question about a recorded call', () => {
  const full = { ...quotas({ pendingPerAgent: 2 }, before({ pending: 2 })), question: question('call_1') };
  const allowed = history(requestAllowed());

  it('is refused by the quotas like a request, also by a process that cannot count', () => {
    const free = { ...full, before: [before({ pending: 1 })] };
    given(allowed)
      .when(ask({ quotas: free }))
      .thenAccepted({ approvalId: firstApproval, round: 1 });
    given(allowed)
      .when(ask({ quotas: full }))
      .thenRefusal({ code: 'too-many-requests' });
    given(allowed)
      .when(ask({ quotas: { ...full, before: null } }))
      .thenRefusal({ code: 'unavailable' });
  });

  it('is refused for its own reason first, and counts for nothing where the policy asks no person', () => {
    const second = { quotas: full, round: 2, approvalId: secondApproval };
    given(history(request())).when(ask(second)).thenRefused('already-pending');
    given(allowed)
      .when(ask({ quotas: full, requestedBy: 'other' }))
      .thenRefused('forbidden');
    given(allowed)
      .when(ask({ quotas: full, verdict: verdict('block') }))
      .thenAccepted({ blockedAt: stored(1) });
  });
});
