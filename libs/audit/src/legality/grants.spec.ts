import { describe, expect, it } from '@jest/globals';
import { under } from '../testing/policy-story.js';
import { callId, grantId, minute, recordedAt, story, use, verdict } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';
import { digestOf } from './digests.js';

type Members = Readonly<Record<string, unknown>>;

const days = (count: number): string => minute(count * 24 * 60);
const given = (terms: Members): Story => recordedAt(minute(0), story().policy().grant('GrantCreated', terms));
const byGrant = (told: Story): Story => told.allow({ verdict: verdict('allow', { grantId }) });
const covered = (used: Members): Story =>
  byGrant(
    story()
      .policy()
      .grant('GrantCreated')
      .grant('GrantUsed', { ...use, ...used })
      .request(),
  );
const requested = story().policy().request();
const late = (at: string): Story =>
  byGrant(recordedAt(at, requested.grant('GrantCreated')).grant('GrantUsed', { ...use, usedAt: minute(0) }));
const words = (told: Story): readonly string[] => wordsOf(told).filter((word) => word !== 'unrecorded-rights');

describe('a grant', () => {
  it('lasts no longer than 90 days', () => {
    expect(words(given({ expiresAt: days(90) }))).toEqual([]);
    expect(words(given({ expiresAt: days(91) }))).toEqual(['grant: it lasts more than 90 days']);
    expect(words(given({ createdAt: days(5), expiresAt: days(95) }))).toEqual(['grant: it lasts more than 90 days']);
  });

  it('is of no person for whom a front end vouches, and is not signed', () => {
    const ofDesk = { createdBy: 'desk#kim', vouchedBy: 'desk' };
    expect(words(given(ofDesk))).toEqual(['grant: a person of a front end gives none']);
    expect(words(given({ assurance: 'high' }))).toEqual(['grant: its assurance is the one of a signature']);
  });

  it('covers a call of the run that its use names', () => {
    expect(words(covered({}))).toEqual([]);
    expect(words(covered({ runId: 'other' }))).toEqual([
      expect.stringContaining(`grant: the use of ${grantId} names another run`),
    ]);
  });

  it('covers no call that was requested before it was given', () => {
    const soon = new Date(Date.parse(minute(0)) + 2000).toISOString();
    expect(words(late(soon))).toEqual([]);
    expect(words(late(minute(1)))).toEqual([expect.stringContaining('was given after this call was requested')]);
  });

  const cancelled = (told: Story, runId = 'run', more: Members = {}): Story =>
    told.append('runCancellation-x', 'RunCancelled', {
      ...{ runId, callIds: [], reason: 'stop', cancelledBy: 'root', cancelledAt: minute(0), ...more },
    });
  const ofRun = given({ runId: 'run' });

  it('of a run that was cancelled is listed where it covers a call', () => {
    const usedBy = (told: Story): readonly string[] => words(told.grant('GrantUsed', use));
    expect(usedBy(cancelled(ofRun))).toEqual(['run-over']);
    expect(usedBy(cancelled(ofRun, 'other'))).toEqual([]);
    expect(usedBy(cancelled(given({})))).toEqual([]);
    const before = cancelled(story().policy());
    expect(usedBy(before.grant('GrantCreated', { runId: 'run' }))).toEqual([]);
    const ofOther = given({ runId: 'run', requestedBy: 'other' });
    expect(usedBy(cancelled(ofOther, 'run', { cancelledBy: 'agent', roles: ['agent'] }))).toEqual([]);
  });
});

describe('the people behind a grant', () => {
  const rights = { roles: ['approver'], groups: [], agentIds: [], rights: digestOf('x') };
  const tokens = story().append('system-default-p1', 'ConfigurationChanged', {
    ...{ processId: 'p1', configures: 'tokens', digest: null, changed: [], removed: [], summary: [] },
    added: ['alice', 'agent'].map((name) => ({
      ...{ ...rights, credential: `token:${name}`, principal: name },
      ...(name === 'agent' ? { roles: ['agent'] } : {}),
    })),
    changedAt: minute(-9),
  });
  const alice = { id: 'alice', groups: ['ops'] };
  const asks = (anyOf: readonly string[]) => [{ id: 'r', then: { require: { anyOf } } }];
  const proven = { credential: 'token:alice', roles: ['approver'] };
  /** A grant of alice covers a call half an hour after another policy is in force. */
  const after = (approvers: readonly Members[], rules: readonly Members[], terms: Members): readonly string[] => {
    const first = under(rules, { approvers: [alice], default: 'require' }, tokens);
    const created = first.told.grant('GrantCreated', { expiresAt: days(2), isListed: true, ...proven, ...terms });
    const { told, cite } = under(rules, { approvers, default: 'require' }, created);
    const used = told.grant('GrantUsed', { grantId, callId, runId: 'run', nth: 1, usedAt: minute(30) });
    const request = recordedAt(minute(30), used).request({ requestedAt: minute(30) });
    const ruleId = rules.length === 0 ? 'default' : 'r';
    return words(request.allow({ verdict: cite(ruleId, 'allow', { grantId }), allowedAt: minute(30) }));
  };

  it('are still in a group of the rule', () => {
    expect(after([alice], asks(['ops']), {})).toEqual([]);
    expect(after([{ id: 'alice', groups: [] }], asks(['ops']), {})).toEqual([
      'grant: nothing gave alice a group that the rule asks',
    ]);
  });

  it('are still among the approvers of the policy, where they were', () => {
    expect(after([], [], {})).toEqual(['grant: alice has left the approvers of the policy']);
    expect(after([], [], { isListed: false, groups: [] })).toEqual([
      'grant: alice was among the approvers of the policy, and it says that they were not',
    ]);
  });
});
