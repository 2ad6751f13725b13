import { describe, expect, it } from '@jest/globals';
import { digestOf } from '../legality/digests.js';
import {
  allowed,
  asked,
  blocked,
  covered,
  editAs,
  edited,
  never,
  one,
  pays,
  quorum,
  risky,
  rule,
  small,
  two,
  under,
  wordsOf,
  lax,
  strict,
  byEarlier,
} from '../testing/policy-story.js';
import type { Log } from '../testing/policy-story.js';
import { batched, minute, recordedAt, story, verdict } from '../testing/story.js';
import type { Story } from '../testing/story.js';

const condition = ['policy-condition'];
describe('a verdict is the one of its policy', () => {
  it.each<[string, Story, readonly string[]]>([
    ['as its rule asks', asked(under([pays]), 'pays', two), []],
    ['by the default', asked(under([], { default: 'require' }), 'default'), []],
    ['by a list', asked(under([], { requireApprovalTools: ['refund'] }), 'requireApprovalTools'), []],
    ['by the allow-list', allowed(under([], { autoApprovedTools: ['refund'] }), 'autoApprovedTools'), []],
    [
      'by an entry of the allow-list with a label',
      allowed(under([], { autoApprovedTools: [{ tools: ['refund'], labels: { env: 't*t' } }] }), 'autoApprovedTools', {
        labels: { env: 'test' },
      }),
      [],
    ],
    ['because its worker wants it', asked(under([]), 'needsApproval', {}, { needsApproval: true }), []],
    ['because its worker asks about it later', asked(under([]), 'needsApproval'), []],
    ['where its own code denies it', blocked(under([]), 'deniedInCode'), []],
    ['where a rule blocks it', blocked(under([never]), 'never'), []],
    [
      'with the defaults of the file',
      asked(under([], { default: 'require', defaults: { expiresIn: '2h', onTimeout: 'hold' } }), 'default', {
        expiresInMs: 7_200_000,
        onTimeout: 'hold',
      }),
      [],
    ],
    ['where an expression may allow it', allowed(under([small, pays]), 'small'), condition],
    ['where an expression may not', asked(under([small, pays]), 'pays', two), condition],
    [
      'where an expression may have no answer',
      asked(under([risky, pays]), 'risky', { ...two, risk: 'high' }),
      condition,
    ],
    ['where an expression may block it', asked(under([{ ...never, when: 'args.x' }]), 'never'), condition],
    [
      'for a shorter time',
      asked(under([], { default: 'require', defaults: { expiresIn: '1h' } }), 'default', { expiresInMs: 600_000 }),
      ['wished'],
    ],
    [
      'for a longer time where the file says none',
      asked(under([], { default: 'require' }), 'default', { expiresInMs: 7_200_000 }),
      ['wished'],
    ],
    ['with fewer decisions', asked(under([pays]), 'pays', { ...two, allowedDecisions: ['deny'] }), ['wished']],
    ['by a grant', covered(under([], { default: 'require' }), 'default'), []],
    [
      'with another call of its step',
      asked(
        under([rule('all', { require: { quorum, batch: 'any-asks-all' } }, { match: { tools: ['drop'] } })]),
        'all',
        { ...two, batch: 'any-asks-all' },
        batched,
      ),
      ['asked-with-step'],
    ],
    [
      'by the built-in policy where none is in force',
      story()
        .request()
        .allow({
          verdict: verdict('allow', {
            ruleId: 'default',
            policyVersion: digestOf({ version: 1, tenant: 'default', default: 'allow' }),
          }),
        }),
      [],
    ],
    ['for an edit under another rule', edited(under([risky, pays]), 'pays', { ...one, ...two }), condition],
    ['for an edit under the same rule', edited(under([risky, pays]), 'risky'), condition],
  ])('%s', (_, told, words) => {
    expect(wordsOf(told)).toEqual(words);
  });
});

it('an earlier policy may judge for some minutes, which is said', () => {
  expect(wordsOf(byEarlier(14))).toEqual(['earlier-policy']);
});

it('a policy that another process has in force may judge, which is said', () => {
  const configured = (processId: string, { cite }: Log, told: Story): Story =>
    told.append(`system-default-${processId}`, 'ConfigurationChanged', {
      ...{ processId, configures: 'policy', digest: cite('pays')['policyVersion'], summary: [], added: [] },
      ...{ changed: [], removed: [], changedAt: minute(0) },
    });
  const told = configured('new', strict, configured('old', lax, strict.told));
  const late = told.request().allow({ verdict: lax.cite('pays', 'allow') });
  expect(wordsOf(recordedAt(minute(600), late))).toEqual(['earlier-policy', 'other-time']);
});

it('an edit keeps what the request has wished, also under its rule of a later policy that asks for no less', () => {
  const shortened = asked(under([pays]), 'pays', { ...two, expiresInMs: 600_000, allowedDecisions: ['edit', 'deny'] });
  const underLater = (file: Parameters<typeof under>[1]): readonly string[] => {
    const { told, cite } = under([pays], file, shortened);
    return wordsOf(editAs(told, cite('pays')));
  };
  expect(underLater({ default: 'require' })).toEqual([]);
  expect(underLater({ defaults: { expiresIn: '5m' } }).join()).toContain(
    'does not ask as its rule "pays" does: expiresInMs',
  );
});

it('an edit keeps the longer time that the request has set where its rule sets none, and under no other rule', () => {
  const longer = (file: Parameters<typeof under>[1] = {}) =>
    asked(under([pays], file), 'pays', { ...two, expiresInMs: 7_200_000 });
  const underRule = ({ cite }: Log, told: Story): readonly string[] => wordsOf(editAs(told, cite('pays')));
  expect(underRule(under([pays]), longer())).toEqual([]);
  const later = under([pays], { default: 'require' }, longer());
  expect(underRule(later, later.told).join()).toContain('does not ask as its rule "pays" does: expiresInMs');
});

it('a policy of a form that the judge does not know is said not to be read', () => {
  for (const file of [{ version: 2 }, { rules: [{ id: 'x' }] }, { rules: [{ ...pays, until: 1 }] }, { default: 1 }]) {
    expect(wordsOf(allowed(under([pays], file), 'pays'))).toEqual(['unread-policy']);
  }
});

it('an edit by a policy that a notifier alone may know is said not to be placed, and is a finding without one', () => {
  const other = { ...risky, id: 'other' };
  const byOther = (log: Log): Story => edited(log, 'other', null, under([other]).cite);
  const processId = 'k3zq2m7w4x6y5r9t2v7b3n4aqa';
  const started = story().append(`system-default-${processId}`, 'ProcessStarted', {
    ...{ processId, role: 'notifier', version: '1', commit: null, files: {}, startedAt: minute(0) },
  });
  expect(wordsOf(byOther(under([risky, pays], {}, started)))).toEqual(['unplaced-policy', 'unread-policy']);
  expect(wordsOf(byOther(under([risky, pays]))).join()).toContain('was not in force');
});
