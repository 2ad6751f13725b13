import { describe, expect, test } from '@jest/globals';
import type { EventData, GrantTerms } from '@countersign/contracts';
import { grantComplaints } from './grants.js';
import { events } from './history-of-one-call.js';
import type { CallEvent, Entry } from './log.js';
import type { Histories } from './rules.js';
import { standingsOf } from './standing.js';

const grantId = 'gr_aaaaaaaaaaaaaaaaaaaaaaaaaa';
const { callId, runId, toolName } = events.requested.data;
const at = (second: number): string => `2026-05-01T12:00:${String(second).padStart(2, '0')}.000Z`;

const terms: GrantTerms = {
  ...{ grantId, tenant: 'default', toolName, match: { any: true }, runId: null, agentId: null },
  ...{ reason: 'maintenance', risk: null, maxUses: 1, approvalId: null, createdBy: 'me', groups: [] },
  ...{ isListed: false, via: 'api', assurance: 'medium', createdAt: at(0), expiresAt: at(30) },
};

type Step = Pick<Entry, 'stream' | 'type' | 'data'>;

const ofGrant = (type: string, data: object): Step => ({ stream: `grant-${grantId}`, type, data });
const given = (change: Partial<GrantTerms> = {}): Step => ofGrant('GrantCreated', { ...terms, ...change });
const proposed = ofGrant('GrantProposed', terms);
const used = (change: object = {}): Step =>
  ofGrant('GrantUsed', { grantId, callId, runId, nth: 1, usedAt: at(1), ...change });
const revoked = ofGrant('GrantRevoked', { grantId, revokedBy: 'me', via: 'api', revokedAt: at(2) });

const ofCall = (type: string, data: object): Step => ({ stream: `toolCall-${callId}`, type, data });
const requested = (change: Partial<EventData<'ToolCallRequested'>> = {}): Step =>
  ofCall('ToolCallRequested', { ...events.requested.data, ...change });
const asked = ofCall('ApprovalRequested', events.asked.data);
const allowed = (by: object = { grantId }): Step =>
  ofCall('ToolCallAllowed', { verdict: { ...events.asked.data.verdict, ...by }, allowedAt: at(1) });

/** The audit's findings about these steps in this order. */
function complaintsOf(...steps: readonly Step[]): string {
  const entries = steps.map((step, index): Entry => {
    const revision = steps.slice(0, index).filter(({ stream }) => stream === step.stream).length;
    const isCall = step.stream.startsWith('toolCall-');
    const ids = { callId: isCall ? callId : null, runId: isCall ? runId : null, eventId: `event-${index}` };
    return { ...step, ...ids, revision, position: index + 1, recordedAt: at(8), tenant: 'default' };
  });
  // The steps above have the forms of the contracts.
  const calls = entries.filter(({ stream }) => stream.startsWith('toolCall-')) as readonly CallEvent[];
  const histories: Histories = new Map(
    calls.length === 0 ? [] : [[callId, { callId, events: calls, standings: standingsOf(calls) }]],
  );
  return grantComplaints(entries, [], histories).join('\n');
}

test('a call that took a use and is covered by it has nothing against it', () => {
  expect(complaintsOf(given(), used(), requested(), allowed())).toBe('');
});

describe('a use that the grant did not have', () => {
  test('one more than its number', () => {
    const second = used({ nth: 2, callId: 'tc_bbbbbbbbbbbbbbbbbbbbbbbbbb' });
    expect(complaintsOf(given(), used(), second, requested(), allowed())).toContain('is one more than its 1');
  });
  test('with a wrong number', () => {
    expect(complaintsOf(given(), used({ nth: 2 }), requested(), allowed())).toContain('is recorded as number 1');
  });
  test('two of one call', () => {
    const steps = [given({ maxUses: 2 }), used(), used({ nth: 2 }), requested(), allowed()];
    expect(complaintsOf(...steps)).toContain(`${callId} took two uses of ${grantId}`);
  });
  test('after it was revoked', () => {
    expect(complaintsOf(given(), revoked, used(), requested(), allowed())).toContain('came after it was revoked');
  });
  test('after its end', () => {
    expect(complaintsOf(given(), used({ usedAt: at(30) }), requested(), allowed())).toContain('came after its end');
  });
  test('before a second person confirmed it', () => {
    expect(complaintsOf(proposed, used(), requested(), allowed())).toContain('came before it was confirmed');
  });
  test('of a grant that was never given', () => {
    expect(complaintsOf(used(), requested(), allowed())).toContain('does not begin with a grant');
  });
});

describe('a call and the use that it took', () => {
  test('a call that is covered without a use', () => {
    expect(complaintsOf(given(), requested(), allowed())).toContain('took no use of it before');
  });
  test('a call that is covered before its use', () => {
    expect(complaintsOf(given(), requested(), allowed(), used())).toContain('took no use of it before');
  });
  test('a call that is covered twice', () => {
    expect(complaintsOf(given(), used(), requested(), allowed(), allowed())).toContain('is allowed twice');
  });
  test('a call that needs an approval and cites no grant', () => {
    expect(complaintsOf(given(), requested(), allowed({}))).toContain('is allowed without a grant');
  });
  test('a call of another tool', () => {
    expect(complaintsOf(given({ toolName: 'other' }), used(), requested(), allowed())).toContain('is for another tool');
  });
  test('a call of the person who gave the grant', () => {
    const { requestedBy } = events.requested.data;
    expect(complaintsOf(given({ createdBy: requestedBy }), used(), requested(), allowed())).toContain('own requester');
  });
  test('a use without its call', () => {
    expect(complaintsOf(given(), used())).toContain('took a use of');
  });
  test('a call that took a use and asked a person, unless the grant was revoked before', () => {
    expect(complaintsOf(given(), used(), requested(), asked)).toContain('is not covered by it');
    expect(complaintsOf(given(), used(), revoked, requested(), asked)).toBe('');
    expect(complaintsOf(given({ expiresAt: at(7) }), used(), requested(), asked)).toBe('');
  });
});

test('a grant and a revocation that were acknowledged are in the log', () => {
  const acknowledged = (['granted', 'revoked'] as const).map((kind) => ({ kind, grantId }));
  expect(grantComplaints([], acknowledged, new Map()).map((complaint) => complaint.split(', ')[1])).toEqual([
    'and the log has no GrantCreated',
    'and the log has no GrantRevoked',
  ]);
});
