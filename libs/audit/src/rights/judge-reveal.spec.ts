import { describe, expect, it } from '@jest/globals';
import { digestOf } from '../legality/digests.js';
import { approvalId, minute, story, verdict } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';

type Members = Readonly<Record<string, unknown>>;

const entry = (principal: string, more: Members = {}): Members => ({
  ...{ credential: `token:${principal}`, principal, roles: ['approver'], groups: ['dev'], agentIds: [] },
  ...{ rights: digestOf({ principal }), ...more },
});
const desk = { roles: ['front-end'], groups: [], people: { groups: ['ops'], maxAssurance: 'medium' } };
const tokens = [
  entry('agent', { roles: ['agent'] }),
  ...[entry('alice'), entry('bob', { groups: ['ops'] }), entry('eve'), entry('desk', desk)],
];
const configured = (told: Story, change: Members): Story =>
  told.append('system-default-p1', 'ConfigurationChanged', {
    ...{ processId: 'p1', digest: null, added: [], changed: [], removed: [], summary: [], changedAt: minute(0) },
    ...change,
  });
const people = (...approvers: readonly Members[]): Members => {
  const content = { version: 2, rules: [], approvers };
  return { content, policyVersion: digestOf(content) };
};
const recorded = configured(story(), { configures: 'tokens', added: tokens });
const away = { id: 'bob', groups: ['ops'], delegates: [{ to: 'alice', from: minute(-60), until: minute(60) }] };
const asks = (groups: readonly string[] | null): Parameters<Story['ask']>[1] => ({
  stages: [{ mode: 'quorum', approve: 1, deny: 1, groups: groups === null ? null : [...groups] }],
});
const versionOf = ({ events }: Story) =>
  (events.at(-1)?.data as { readonly policyVersion: string } | undefined)?.policyVersion ?? '';
const reveal = (told: Story, by: string, more: Members = {}, groups: readonly string[] | null = ['ops']): Story =>
  told
    .request()
    .ask({ verdict: verdict('require', { policyVersion: versionOf(told) }) }, asks(groups))
    .about('ValuesRevealed', {
      ...{ approvalId: approvalId(), revealedBy: by, pointers: ['/amount'], via: 'api', revealedAt: minute(1) },
      ...{ credential: `token:${by}`, roles: ['approver'], ...more },
    });
const byDesk = { credential: 'token:desk', vouchedBy: 'desk' };

describe('hidden values are shown', () => {
  it.each<readonly [string, Story]>([
    ['to a person whom a stage asks', reveal(recorded.policy(), 'bob')],
    ['to any approver where every one is asked', reveal(recorded.policy(), 'alice', {}, null)],
    [
      'to a person whom the policy puts into the group',
      reveal(recorded.policy(people({ id: 'eve', groups: ['ops'] })), 'eve'),
    ],
    ['to one who responds in place of such a person', reveal(recorded.policy(people(away)), 'alice')],
    ['to a person of a front end that gives the group', reveal(recorded.policy(), 'desk#al', byDesk)],
  ])('%s', (_, told) => {
    expect(wordsOf(told)).toEqual([]);
  });

  it.each<readonly [string, Story, string]>([
    ['to a person whom no stage asks', reveal(recorded.policy(), 'alice'), 'alice'],
    ['to one who responds in place of nobody', reveal(recorded.policy(people(away)), 'eve'), 'eve'],
    [
      'to a person of a front end that does not give the group',
      reveal(recorded.policy(), 'desk#al', byDesk, ['security']),
      'desk#al',
    ],
  ])('never %s', (_, told, name) => {
    expect(wordsOf(told)).toEqual([`rights: nothing gave ${name}, who looks at hidden values, a group that is asked`]);
  });

  it('to a person of a provider, whose groups the log does not have', () => {
    const told = configured(recorded, { configures: 'oidc', summary: ['issuer https://id.example'] }).policy();
    const by = 'https://id.example#carol';
    expect(wordsOf(reveal(told, by, { credential: 'oidc:https://id.example#1' }))).toEqual(['provider-rights']);
  });
});
