import { describe, expect, it } from '@jest/globals';
import { digestOf } from '../legality/digests.js';
import {
  allowed,
  asked,
  blocked,
  covered,
  edited,
  never,
  one,
  pays,
  quorum,
  risky,
  rule,
  two,
  under,
  wordsOf,
  lax,
  strict,
  byEarlier,
} from '../testing/policy-story.js';
import { batched, minute, story, verdict } from '../testing/story.js';
import type { Story } from '../testing/story.js';

const businessHours = { zone: 'UTC', days: ['mon'], from: '08:00', to: '18:00' };
const quietAtNight = rule(
  'quiet',
  { require: { onTimeout: 'allow', allowOnTimeout: 'i-understand', businessHours } },
  { when: 'args.amount > 50' },
);
const doubtful = { when: 'args.amount > 50' };
const upAtDay = rule(
  'up',
  { require: { onTimeout: 'escalate', escalation: [{ to: ['boss'], expiresIn: '1s' }], businessHours } },
  doubtful,
);
const soon = rule('soon', { require: { expiresIn: '1h' } }, doubtful);
const twoStages = rule('both', { require: { stages: [{ anyOf: ['ops', 'sec'] }, { anyOf: ['sec'] }] } }, doubtful);

/** The record of a tokens file in which alice is in other groups. */
const withTokens = story().append('system-default-p1', 'ConfigurationChanged', {
  ...{ processId: 'p1', configures: 'tokens', digest: null, changed: [], removed: [], summary: [] },
  added: [
    {
      ...{ credential: 'token:alice', principal: 'alice', roles: ['approver'], groups: ['ops'], agentIds: [] },
      rights: digestOf('alice'),
    },
  ],
  changedAt: minute(-9),
});

const agentAtDesk = { id: 'agent', groups: [], identities: { frontEnds: ['desk#al'] } };

describe('a lie about a verdict is found', () => {
  it.each<[string, Story, string]>([
    ['a call is allowed that its rule blocks', allowed(under([never]), 'never'), 'the rule "never" does not allow'],
    ['a call is allowed that its rule asks about', allowed(under([pays]), 'pays'), 'the rule "pays" does not allow'],
    [
      'a call is allowed by a rule behind the one that decides',
      allowed(under([pays, rule('rest', 'allow')]), 'rest'),
      '"pays" does',
    ],
    ['a call is allowed by the default, and a rule decides', allowed(under([pays]), 'default'), '"pays" does'],
    ['a call is allowed by a rule that is in no policy', allowed(under([pays]), 'invented'), '"pays" does'],
    [
      'a call is allowed by a rule for other tools',
      allowed(under([rule('mails', 'allow', { match: { tools: ['mail*', '*x?und'] } }), pays]), 'mails'),
      '"pays" does',
    ],
    [
      'a call is allowed by a rule for other agents',
      allowed(under([rule('mine', 'allow', { match: { agents: ['a?'] } }), pays]), 'mine'),
      '"pays" does',
    ],
    [
      'a call is allowed by a rule for other labels',
      allowed(under([rule('tests', 'allow', { match: { labels: { env: 'test' } } }), pays]), 'tests', {
        labels: { env: 'prod' },
      }),
      '"pays" does',
    ],
    [
      'a call is allowed by a label that it inherits',
      allowed(under([rule('odd', 'allow', { match: { labels: { toString: '*' } } }), pays]), 'odd'),
      '"pays" does',
    ],
    [
      'a call is allowed by a list that does not name it',
      allowed(under([], { autoApprovedTools: ['ref'] }), 'autoApprovedTools'),
      '"default" does',
    ],
    [
      'a call is allowed by a list, and another one decides',
      allowed(under([], { requireApprovalTools: ['*'], autoApprovedTools: ['*'] }), 'autoApprovedTools'),
      '"requireApprovalTools" does',
    ],
    [
      'a call is allowed that its worker wants asked about',
      allowed(under([]), 'default', { needsApproval: true }),
      'its worker asked',
    ],
    ['a call is blocked by a rule that asks', blocked(under([pays]), 'pays'), 'the rule "pays" does not block'],
    ['a call is asked about that its rule blocks', asked(under([never]), 'never'), 'the rule "never" does not ask'],
    ['a verdict is said to be of a person', allowed(under([]), 'default', {}, { automatic: false }), 'automatic'],
    ['one approver is asked, as for a worker, in place of two', asked(under([pays]), 'needsApproval'), '"pays" does'],
    [
      'fewer people are asked',
      asked(under([pays]), 'pays', { stages: [{ mode: 'quorum', approve: 1, deny: 1, groups: ['ops'] }] }),
      'stages',
    ],
    [
      'more people must deny',
      asked(under([pays]), 'pays', { stages: [{ mode: 'quorum', approve: 2, deny: 2, groups: ['ops'] }] }),
      'stages',
    ],
    [
      'other groups are asked',
      asked(under([pays]), 'pays', { stages: [{ mode: 'quorum', approve: 2, deny: 1, groups: ['dev'] }] }),
      'stages',
    ],
    [
      'a stage is left out',
      asked(under([rule('pays', { require: { stages: [{ allOf: ['a', 'b'] }, { anyOf: ['c'] }] } })]), 'pays', {
        stages: [{ mode: 'all-of', approve: 2, deny: 1, groups: ['a', 'b'] }],
      }),
      'stages',
    ],
    ['silence approves', asked(under([pays]), 'pays', { ...two, onTimeout: 'allow' }), 'onTimeout'],
    [
      'an escalation asks others',
      asked(
        under([rule('up', { require: { onTimeout: 'escalate', escalation: [{ to: ['boss'], expiresIn: '1h' }] } })]),
        'up',
        { onTimeout: 'escalate', escalation: [{ to: ['dev'], expiresInMs: 3_600_000 }] },
      ),
      'escalation',
    ],
    ['the requester may answer', asked(under([pays]), 'pays', { ...two, fourEyes: false }), 'fourEyes'],
    [
      'the time is longer than in the file',
      asked(under([pays], { defaults: { expiresIn: '1h' } }), 'pays', { ...two, expiresInMs: 7_200_000 }),
      'expiresInMs',
    ],
    [
      'silence approves earlier',
      asked(under([rule('quiet', { require: { onTimeout: 'allow', allowOnTimeout: 'i-understand' } })]), 'quiet', {
        onTimeout: 'allow',
        expiresInMs: 60_000,
      }),
      'expiresInMs',
    ],
    ['the right to run is longer', asked(under([pays]), 'pays', { ...two, executeByMs: 'never' }), 'executeByMs'],
    [
      'another decision is allowed',
      asked(under([rule('pays', { require: { quorum, allowedDecisions: ['approve'] } })]), 'pays', {
        ...two,
        allowedDecisions: ['approve', 'edit', 'deny'],
      }),
      'allowedDecisions',
    ],
    ['nobody can deny', asked(under([pays]), 'pays', { ...two, allowedDecisions: ['approve'] }), 'allowedDecisions'],
    [
      'a lower assurance is enough',
      asked(under([rule('pays', { require: { quorum, minAssurance: 'medium' } })]), 'pays', two),
      'minAssurance',
    ],
    [
      'a signature is not asked for',
      asked(under([rule('pays', { require: { quorum, requireSignature: true } })]), 'pays', two),
      'requireSignature',
    ],
    [
      'a denial does not end the run',
      asked(under([rule('pays', { require: { quorum, denyEndsRun: true } })]), 'pays', two),
      'denyEndsRun',
    ],
    [
      'a step is not bound',
      asked(under([rule('pays', { require: { quorum, batch: 'all-or-nothing' } })]), 'pays', two),
      'batch',
    ],
    [
      'a call takes no turns',
      asked(under([rule('pays', { require: { quorum, batch: 'sequential' } })]), 'pays', {
        ...two,
        batch: 'sequential',
      }),
      'takes no turns',
    ],
    ['less is asked where other rules may count too', asked(under([risky, pays]), 'risky'), 'risk'],
    [
      'silence approves while people are away, where other rules may count too',
      asked(under([quietAtNight, pays]), 'quiet', { onTimeout: 'allow' }),
      'businessHours',
    ],
    [
      'others are asked while people are away, where other rules may count too',
      asked(under([upAtDay, pays]), 'up', { onTimeout: 'escalate', escalation: [{ to: ['boss'], expiresInMs: 1000 }] }),
      'businessHours',
    ],
    [
      'a denial waits for the hours of another rule',
      asked(under([soon, pays]), 'soon', { businessHours: { ...businessHours, days: ['mon'] } }),
      'businessHours',
    ],
    [
      'one stage stands for two, where other rules may count too',
      asked(under([twoStages, pays]), 'both', { stages: [{ mode: 'quorum', approve: 1, deny: 1, groups: ['sec'] }] }),
      'stages',
    ],
    [
      'a stage of one person of each group claims more people than it has',
      asked(under([rule('three', { require: { quorum: { approve: 3 } } }, doubtful), pays]), 'three', {
        stages: [{ mode: 'all-of', approve: 3, deny: 1, groups: ['ops'] }],
      }),
      'stages',
    ],
    [
      'a call of no step is asked about by a rule of another one',
      asked(under([rule('all', { require: { batch: 'any-asks-all' } }, { match: { tools: ['drop'] } })]), 'all', {
        batch: 'any-asks-all',
      }),
      '"default" does',
    ],
    [
      'a call with a rule of its own is asked about by that of another one',
      asked(
        under([rule('all', { require: { batch: 'any-asks-all' } }, { match: { tools: ['drop'] } }), pays]),
        'all',
        { batch: 'any-asks-all' },
        batched,
      ),
      '"pays" does',
    ],
    ['a grant answers for two people', covered(under([pays]), 'pays'), 'it asks several people'],
    [
      'a grant answers for a signature',
      covered(under([rule('pays', { require: { requireSignature: true } })]), 'pays'),
      'it asks for signatures',
    ],
    [
      'a grant answers for a higher risk',
      covered(under([rule('pays', { require: { risk: 'medium' } })]), 'pays', { risk: 'low' }),
      'its risk is higher',
    ],
    [
      'a grant is of the person for whom the agent acts',
      covered(under([], { default: 'require' }), 'default', { createdBy: 'Agent' }),
      'whose own request it covers',
    ],
    [
      'a grant is of that person under another name of the policy',
      covered(under([], { default: 'require', approvers: [agentAtDesk] }), 'default', { createdBy: 'desk#al' }),
      'whose own request it covers',
    ],
    [
      'a grant answers with too little assurance',
      covered(under([rule('pays', { require: { minAssurance: 'medium' } })]), 'pays', { assurance: 'low' }),
      'is too low',
    ],
    [
      'a grant is of a person whom the rule does not ask',
      covered(under([rule('pays', { require: { anyOf: ['security'] } })], {}, withTokens), 'pays'),
      'nothing gave alice a group that the rule asks',
    ],
    ['a grant answers for a call that is blocked', covered(under([never]), 'never'), 'the rule asks nobody'],
    [
      'a grant answers where a rule might block',
      covered(under([{ ...never, when: 'args.x' }]), 'never'),
      'might block',
    ],
    ['an edit asks nobody else, and its rule asks two people', edited(under([risky, pays]), 'pays'), 'stages'],
    ['an edit asks fewer people than its rule', edited(under([risky, pays]), 'pays', one), 'stages'],
    [
      'a policy is cited that is not in the log',
      story()
        .request()
        .allow({ verdict: verdict('allow', { policyVersion: digestOf(1) }) }),
      'was not in force',
    ],
    [
      'the built-in policy is cited where another one is in force',
      strict.told.request().allow({
        verdict: verdict('allow', {
          ruleId: 'default',
          policyVersion: digestOf({ version: 1, tenant: 'default', default: 'allow' }),
        }),
      }),
      'was not in force',
    ],
    [
      'a policy is cited before it is in force',
      story()
        .request()
        .allow({ verdict: lax.cite('pays', 'allow') })
        .policy({ content: { version: 1 }, policyVersion: digestOf({ version: 1 }) }),
      'was not in force',
    ],
    ['a policy is cited long after another one came in force', byEarlier(16), 'was not in force'],
  ])('%s', (_, told, words) => {
    expect(wordsOf(told).join()).toContain(words);
  });
});
