import { describe, expect, it } from '@jest/globals';
import { allApproversOf } from '@countersign/commands';
import { createLivePolicies, loadPolicy } from '@countersign/policy';
import { createChannelPeople, createPeople } from './people.js';
import { createTokens } from './tokens.js';

const entries = [
  { token: 'a'.repeat(32), principal: 'ann', roles: ['approver'], groups: ['ops'], tenant: 'default' },
  { token: 'd'.repeat(32), principal: 'ann', roles: ['approver'], groups: ['night'], tenant: 'default' },
  { token: 'b'.repeat(32), principal: 'aud', roles: ['auditor'], groups: ['audit'], tenant: 'default' },
  { token: 'c'.repeat(32), principal: 'other', roles: ['approver'], groups: ['theirs'], tenant: 'other' },
];
const tokens = createTokens(entries);
const channels = {
  people: [
    { id: 'bob', groups: ['security'] },
    { id: 'ann', groups: ['finance'], slack: 'T1:U1' },
  ],
};
const sources = { tokens: () => tokens, channels, issuer: null };

describe('the groups that approvers have', () => {
  it('are those of the tokens with the role approver, and of the people of the channels file', () => {
    const { groupsOf } = createPeople(sources);
    expect([...(groupsOf('default') ?? [])]).toEqual(['ops', 'night', 'security', 'finance']);
    expect([...(groupsOf('other') ?? [])]).toEqual(['theirs']);
  });

  it('are none before the first start made the tokens', () => {
    const people = createPeople({ tokens: () => undefined, channels: undefined, issuer: null });
    expect(people.groupsOf('default')).toEqual(new Set());
    expect(people.approver('default', 'ann')).toBeUndefined();
  });

  it('are not known where people sign in at an OIDC provider', () => {
    expect(createPeople({ ...sources, issuer: new URL('https://id.example') }).groupsOf('default')).toBeNull();
  });
});

describe('a rule that asks for more people than are known', () => {
  const stageShortOf = (require: string, given: Partial<Parameters<typeof createPeople>[0]> = {}) => {
    const content = loadPolicy('p.yaml', `version: 1\nrules: [{ id: a, then: { require: { ${require} } } }]`);
    const [rule] = content.rules;
    if (rule?.then.outcome !== 'require') throw new Error('no rule');
    return createPeople({ ...sources, ...given }).stageShortOf?.(content)(rule.then.requirement);
  };

  it.each([
    ['a quorum', 'quorum: { approve: 2, of: [ops] }', { stage: 0, groups: ['ops'] }],
    ['one person in two stages', 'stages: [{ anyOf: [ops] }, { anyOf: [night] }]', { stage: 1, groups: ['night'] }],
    ['one person for two groups', 'allOf: [ops, night]', { stage: 0, groups: ['night'] }],
    ['any two approvers', 'quorum: { approve: 2 }', { stage: 0, groups: null }],
    ['a person of the channels file without a token', 'anyOf: [security]', { stage: 0, groups: ['security'] }],
  ])('is found: %s', (_, require, short) => {
    expect(stageShortOf(require)).toEqual(short);
  });

  it('is none where enough people have the groups, or where an escalation adds them', () => {
    const more = createTokens([
      ...entries,
      { token: 'e'.repeat(32), principal: 'eve', roles: ['approver'], groups: ['managers'], tenant: 'default' },
    ]);
    const escalation = 'onTimeout: escalate, escalation: [{ to: [managers], expiresIn: 1h }]';
    expect(stageShortOf('anyOf: [ops]')).toBeUndefined();
    expect(stageShortOf('quorum: { approve: 2, of: [ops] }', { tokens: () => more })).toMatchObject({ stage: 0 });
    expect(stageShortOf(`quorum: { approve: 2, of: [ops] }, ${escalation}`, { tokens: () => more })).toBeUndefined();
  });

  it('is not looked for where people sign in at an OIDC provider', () => {
    expect(stageShortOf('quorum: { approve: 9 }', { issuer: new URL('https://id.example') })).toBeUndefined();
  });
});

describe('a person', () => {
  it('has the groups of all tokens and of the channels file together', () => {
    expect(createPeople(sources).approver('default', 'ann')).toEqual({
      groups: ['ops', 'night', 'finance'],
      isAway: false,
    });
  });

  it('is an approver only by the tokens file or the provider, not by the channels file', () => {
    const people = createPeople(sources);
    expect(people.approver('default', 'bob')).toBeUndefined();
    expect(people.approver('default', 'aud')).toBeUndefined();
    expect(people.approver('default', 'other')).toBeUndefined();
  });

  it('has the identities of the channels file, in its tenant alone', () => {
    const people = createPeople(sources);
    expect(people.names('default')).toEqual([['bob'], ['ann', 'T1:U1', 'slack:T1:U1']]);
    expect(people.names('other')).toEqual([]);
  });

  it('of an OIDC provider may be away, and others of its name may not', () => {
    const people = createPeople({ ...sources, issuer: new URL('https://id.example') });
    expect(people.approver('default', 'https://id.example#1')).toEqual({
      ...{ groups: [], isAway: true, signedIn: [] },
    });
    expect(people.approver('default', 'https://id.example.evil#1')).toBeUndefined();
  });

  it.each([true, false])('of an OIDC provider who is signed in has the role of that sign-in: %s', (isApprover) => {
    const sessions = () => ({ grants: () => isApprover, groupsOf: () => [], isSignedIn: () => true });
    const people = createPeople({ ...sources, sessions, issuer: new URL('https://id.example') });
    expect(people.approver('default', 'https://id.example#1')).toEqual(
      isApprover ? { groups: [], isAway: false, signedIn: [] } : undefined,
    );
  });

  it('who is signed in has the groups that the provider gave', () => {
    const sessions = () => ({ grants: () => true, groupsOf: () => ['directors'], isSignedIn: () => true });
    expect(createPeople({ ...sources, sessions }).approver('default', 'eve')).toEqual({
      groups: ['directors'],
      isAway: false,
    });
  });
});

it('all approvers of a tenant are looked up again only after the tokens or the policy changed', () => {
  const policyOf = (group: string) => loadPolicy('p.yaml', `version: 1\napprovers: [{ id: ann, groups: [${group}] }]`);
  const policies = createLivePolicies(policyOf('dev'));
  let current = tokens;
  const people = createPeople({ ...sources, tokens: () => current });
  const ask = () => allApproversOf({ people, policies }, 'default');
  const first = ask();
  expect(first).toEqual([{ names: ['ann', 'T1:U1', 'slack:T1:U1'], groups: ['ops', 'night', 'finance', 'dev'] }]);
  expect(ask()).toBe(first);
  policies.activate(policyOf('web'));
  expect(ask()).toEqual([{ names: ['ann', 'T1:U1', 'slack:T1:U1'], groups: ['ops', 'night', 'finance', 'web'] }]);
  current = createTokens(entries.map((entry) => ({ ...entry, groups: ['day'] })));
  expect(ask()).toEqual([{ names: ['ann', 'T1:U1', 'slack:T1:U1'], groups: ['day', 'finance', 'web'] }]);
  expect(allApproversOf({ people, policies }, 'other')).toEqual([{ names: ['other'], groups: ['day'] }]);
});

describe('the people of the channels', () => {
  const clock = { now: () => Date.parse('2026-12-02T00:00:00Z') };
  const away = '{ to: bob, from: 2026-12-01T00:00:00Z, until: 2026-12-08T00:00:00Z }';
  const policy = (text: string) => loadPolicy('p.yaml', `version: 1\napprovers:\n${text}`);
  const first = policy(
    `  - { id: ann, groups: [dev], identities: { telegram: "1" }, delegates: [${away}] }\n  - { id: bob, groups: [web], identities: { email: "bob@example.com" } }\n  - { id: cem, groups: [sales], identities: { slack: "T1:U3" } }`,
  );

  it('are those of the channels file and of the policy file, united by id', () => {
    const people = createChannelPeople(channels.people, createLivePolicies(first), createPeople(sources), clock)();
    expect(people).toMatchObject([
      {
        id: 'bob',
        email: 'bob@example.com',
        groups: ['security', 'web'],
        delegatedGroups: ['dev', 'ops', 'night', 'finance'],
      },
      { id: 'ann', slack: 'T1:U1', telegram: '1', groups: ['finance', 'dev', 'ops', 'night'], delegatedGroups: [] },
      { id: 'cem', slack: 'T1:U3', groups: ['sales'] },
    ]);
  });

  it('lose identities, groups and delegations with the entry of the policy file', () => {
    const policies = createLivePolicies(first);
    const people = createChannelPeople(channels.people, policies, createPeople(sources), clock);
    policies.activate(policy('  - { id: bob, groups: [web] }'));
    expect(people()).toMatchObject([
      { id: 'bob', groups: ['security', 'web'], delegatedGroups: [] },
      { id: 'ann', slack: 'T1:U1', groups: ['finance', 'ops', 'night'] },
    ]);
    expect(people()).toHaveLength(2);
    expect(people()[1]).not.toHaveProperty('telegram');
    expect(people()[0]).not.toHaveProperty('email');
  });

  it('are approvers as long as the tokens file says so', () => {
    const removed = createTokens(entries.filter(({ principal }) => principal !== 'ann'));
    const asked = (tokens: typeof removed) => {
      const known = createPeople({ ...sources, tokens: () => tokens });
      const people = createChannelPeople(channels.people, createLivePolicies(first), known, clock)();
      return people.find(({ id }) => id === 'ann')?.isApprover;
    };
    expect([asked(createTokens(entries)), asked(removed)]).toEqual([true, false]);
  });

  it('are not asked in the place of a person who is no approver any more', () => {
    const removed = createTokens(entries.filter(({ principal }) => principal !== 'ann'));
    const known = createPeople({ ...sources, tokens: () => removed });
    expect(createChannelPeople(channels.people, createLivePolicies(first), known, clock)()[0]).toMatchObject({
      ...{ id: 'bob', delegatedGroups: [] },
    });
  });
});
