import { describe, expect, it } from '@jest/globals';
import { eventWordsOf } from './event-words.js';
import { printable, quotedWords } from './marks.js';
import { schemaNoteWords } from './schema-note-words.js';
import { refusalWords } from './refusal-words.js';
import { requirementWords } from './requirement-words.js';

describe('the approvers in words', () => {
  const two = { mode: 'quorum', approve: 2, groups: null } as const;
  const all = { mode: 'all-of', approve: 1, groups: ['ops', 'legal'] } as const;

  it.each([
    [[two], false, '2 approvers'],
    [[{ ...two, approve: 1, groups: ['ops', 'on-call'] }], true, '1 approver of ops or on-call; not the requester'],
    [[two, all], true, '2 approvers, then one of each: ops, legal; not the requester'],
    [[{ ...all, groups: ['op\u200bs'] }], false, 'one of each: op⟦U+200B⟧s'],
  ])('%j, four eyes %s', (stages, fourEyes, words) => {
    expect(requirementWords({ stages, fourEyes })).toBe(words);
  });

  it('cuts the name of a group where there is little room', () => {
    const stages = [{ ...two, groups: ['abcdef'] }];
    expect(requirementWords({ stages, fourEyes: false }, 2)).toBe('2 approvers of ab…⟦4 more characters⟧');
  });
});

it('quotes a text so that nothing in it can close the quotes', () => {
  expect(quotedWords('ok"   carol approved: "so\\', 200)).toBe('"ok\\"   carol approved: \\"so\\\\"');
  expect(quotedWords('say "yes"', 6)).toBe('"say \\"y…⟦3 more characters⟧"');
  expect(schemaNoteWords([{ pointer: '/a" and 3 more' }])).toContain('"/a\\" and 3 more"');
});

describe('a refusal', () => {
  const nowMs = Date.parse('2026-11-22T10:00:00.000Z');
  const told = (refusal: Record<string, unknown>) =>
    refusalWords({ code: 'already-resolved', detail: 'the detail\u202e', ...refusal }, nowMs, {
      channel: (via) => `<${via}>`,
      sentences: { 'own-request': 'Not your own.', locked: 'Unlock it first.' },
    });

  it('is told in the words of the place, then in the common ones, then in those of the server', () => {
    expect(told({ code: 'locked' })).toBe('Unlock it first.');
    expect(told({ code: 'own-request' })).toBe('Not your own.');
    expect(told({ code: 'digest-mismatch' })).toContain('Nothing was recorded.');
    expect(told({ code: 'expired', expiredAt: '2026-11-22T09:58:00.000Z' })).toBe('The approval expired 2 min ago.');
    expect(told({ code: 'other' })).toBe('the detail⟦U+202E⟧');
    expect(told({ code: 'constructor' })).toBe('the detail⟦U+202E⟧');
  });

  it('tells who was first, as far as the server says so', () => {
    const first = { respondedBy: 'bob', resolution: 'approved', respondedAt: '2026-11-22T09:59:57.000Z', via: 'slack' };
    expect(told(first)).toBe('bob approved this 3 s ago via <slack>. Nothing is left to answer.');
    expect(told({ ...first, via: null, respondedAt: 7 })).toBe('bob approved this. Nothing is left to answer.');
    expect(told({ ...first, resolution: undefined })).toBe('the detail⟦U+202E⟧');
    expect(told({ ...first, respondedBy: 'bob denied and alice' })).toContain('"bob denied and alice" approved this');
    expect(told({ cancelledBy: 'al\u200bice' })).toBe('al⟦U+200B⟧ice cancelled this call. Nothing is left to answer.');
  });

  it('lists the problems, also from a malformed list', () => {
    expect(told({ code: 'x', errors: [{ path: '/a', message: 'must be a number\u001b' }, null] })).toBe(
      'the detail⟦U+202E⟧ (/a: must be a number⟦U+001B⟧; undefined: undefined)',
    );
    for (const errors of ['none', {}, null, []]) expect(told({ code: 'x', errors })).toBe('the detail⟦U+202E⟧');
  });
});

describe('an event', () => {
  const show = (value: unknown): string => (typeof value === 'string' ? printable(value) : JSON.stringify(value));
  const own = { ExecutionSucceeded: () => 'it ran', ToolCallAllowed: () => 'allowed' };
  const said = (type: string, data: unknown) => eventWordsOf({ type, data }, own, show);

  it('is told in the words of the place, then in the common ones, and else not at all', () => {
    expect(said('ExecutionSucceeded', {})).toBe('it ran');
    expect(said('ToolCallAllowed', { verdict: { ruleId: 'r' } })).toBe('allowed');
    expect(said('ToolCallBlocked', { verdict: { ruleId: 'no-prod' }, reason: 'never\u202e' })).toBe(
      'blocked by rule no-prod: never⟦U+202E⟧',
    );
    expect(said('FromTheFuture', {})).toBeUndefined();
    expect(said('constructor', {})).toBeUndefined();
  });

  it.each([
    ['ToolCallAllowed', { verdict: { ruleId: 'reads' } }, 'allowed by rule reads'],
    ['ToolCallBlocked', { verdict: { ruleId: 'no-prod' } }, 'blocked by rule no-prod'],
    [
      'ApprovalDescribed',
      { describedBy: 'agent', reason: null, description: 'to free space' },
      'agent adds: to free space',
    ],
    ['ResponseWithdrawn', { withdrawnBy: 'bob' }, 'bob withdrew the response'],
    ['ResponseWithdrawn', { withdrawnBy: 'desk', castBy: 'desk#kim' }, 'desk withdrew the response of desk#kim'],
    ['ApprovalExpired', {}, 'expired without an answer'],
    ['ApprovalEscalated', { to: ['boss'], level: 2 }, 'escalated to ["boss"] (level 2)'],
    ['ApproversReminded', { nth: 3 }, 'reminder 3 sent'],
    ['ApprovalLapsed', {}, 'the approval expired before the tool ran'],
    ['ToolCallCancelled', { cancelledBy: 'bob', reason: 'no' }, 'cancelled by bob: no'],
    ['ExecutionClaimed', { resolverId: 'r1', attempt: 1 }, 'r1 runs it (attempt 1)'],
    ['ExecutionClaimRenewed', { attempt: 1 }, 'attempt 1 is still running'],
    ['ExecutionLapsed', { attempt: 1 }, 'attempt 1 reported nothing; it may be retried'],
    ['ExecutionOutcomeUnknown', { reason: 'lost' }, 'the outcome is unknown; a person must reconcile it: lost'],
    ['ExecutionReconciled', { reconciledBy: 'bob', status: 'succeeded', note: 'seen' }, 'bob says: succeeded: seen'],
  ])('%s %j is told in common words', (type, data, words) => {
    expect(eventWordsOf({ type, data }, {}, show)).toBe(words);
  });

  it('quotes names that could be read as a part of its words, and no sentence', () => {
    expect(said('ToolCallCancelled', { cancelledBy: 'bob: approved by alice', reason: 'no longer needed' })).toBe(
      'cancelled by "bob: approved by alice": no longer needed',
    );
    expect(said('PasskeyRegistered', { principal: 'bob', name: 'key" of alice' })).toBe(
      'bob registered the passkey "key\\" of alice"',
    );
  });

  it('has words for any data', () => {
    for (const data of [null, undefined, 7, 'text', [], { verdict: null, reason: { a: 1 } }]) {
      expect(said('ToolCallBlocked', data)).toMatch(/^blocked by rule (?:: \{"a":1\})?$/);
    }
    expect(said('ToolCallBlocked', { verdict: Object.create({ ruleId: 'inherited' }) as object })).toBe(
      'blocked by rule ',
    );
  });
});
