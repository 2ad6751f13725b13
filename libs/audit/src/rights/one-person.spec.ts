import { describe, expect, it } from '@jest/globals';
import { digestOf } from '../legality/digests.js';
import { digestOfEdit, grantId, minute, salt, story, verdict } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';

type Members = Readonly<Record<string, unknown>>;

/** The policy in force: it says which names a person has. */
const known = (approvers: readonly Members[], before = story()): Story => {
  const content = { version: 2, rules: [], approvers };
  return before.policy({ policyVersion: digestOf(content), content });
};
const alice = { id: 'alice', groups: [], identities: { email: 'alice@example.com', frontEnds: ['desk#al'] } };
const two = { stages: [{ mode: 'quorum' as const, approve: 3, deny: 1, groups: ['ops'] }] };
const asked = (told: Story, request: Members = {}, required: Parameters<Story['ask']>[1] = two): Story => {
  const { policyVersion = '' } = (told.events.at(-1)?.data ?? {}) as { readonly policyVersion?: string };
  return told.request(request).ask({ verdict: verdict('require', { policyVersion }) }, required);
};
const both = (told: Story, first: string, second: string, more: Members = {}): Story =>
  asked(told).respond(first).respond(second, more);
/** Alice denies, and bob edits after her: her denial counts on. */
const knowsAlice = known([alice]);
const versionOf = ({ events }: Story) =>
  (events.at(-1)?.data as { readonly policyVersion: string } | undefined)?.policyVersion ?? '';
const denied = asked(knowsAlice, {}, { stages: [{ mode: 'quorum' as const, approve: 3, deny: 2, groups: ['ops'] }] })
  .respond('alice', { decision: { type: 'deny' } })
  .edit(
    'bob',
    { amount: 1 },
    {
      decision: {
        ...{ type: 'edit', arguments: { amount: 1 }, sensitive: [], salt, requirement: null, clock: null },
        verdict: verdict('require', { policyVersion: versionOf(knowsAlice) }),
      },
    },
  );
const again = (more: Members): Story =>
  denied.respond('desk#al', {
    proposal: 2,
    actionDigest: digestOfEdit({ amount: 1 }),
    respondedAt: minute(2),
    ...more,
  });
const ofDesk = { onBehalfOf: 'desk#al' };
const words = (told: Story): readonly string[] => wordsOf(told).filter((word) => word !== 'unrecorded-rights');

describe('all names that the policy in force gives a person are one', () => {
  it.each<readonly [string, Story, string]>([
    [
      'two votes',
      both(known([alice]), 'alice', 'desk#al'),
      'vote: desk#al is alice by the policy, who has a vote for this proposal already',
    ],
    [
      'two votes, and neither under the id',
      both(known([alice]), 'email:Alice@example.com', 'DESK#al'),
      'vote: DESK#al is email:Alice@example.com by the policy, who has a vote for this proposal already',
    ],
    [
      'a vote of a delegate in the place of one who has voted',
      both(known([alice]), 'alice', 'bob', ofDesk),
      'vote: desk#al is alice by the policy, who has a vote for this proposal already',
    ],
    [
      'two denials, one of them of an earlier proposal',
      again({ decision: { type: 'deny' }, resolution: 'denied' }),
      'vote: desk#al is alice by the policy, whose denial of an earlier proposal counts on beside it',
    ],
    [
      'an approval after a denial of an earlier proposal',
      again({}),
      'vote: desk#al is alice by the policy, whose denial of an earlier proposal counts on beside it',
    ],
    [
      'an answer to their own request',
      asked(known([alice]), ofDesk).respond('alice'),
      'four-eyes: alice is desk#al by the policy, whose request it is',
    ],
    [
      'two names that meet in another person of the policy',
      both(known([alice, { id: 'desk#al', identities: { slack: 'T01:U01' } }]), 'alice', 'slack:T01:U01'),
      'vote: slack:T01:U01 is alice by the policy, who has a vote for this proposal already',
    ],
    [
      'a grant that they confirm themselves',
      known([alice])
        .grant('GrantProposed', { risk: 'high' })
        .grant('GrantConfirmed', { grantId, confirmedBy: 'desk#al', via: 'api', confirmedAt: minute(1) }),
      'four-eyes: desk#al is alice by the policy, whose grant it is',
    ],
  ])('%s', (_, told, word) => {
    expect(words(told)).toEqual([word]);
  });

  it.each<readonly [string, Story]>([
    ['two people', both(known([alice]), 'alice', 'bob')],
    ['their own request where the rule lets them', asked(known([alice]), ofDesk, { fourEyes: false }).respond('alice')],
    ['a vote in place of one that ends', both(known([alice]), 'alice', 'desk#al', { endedVotes: ['alice'] })],
    ['a denial in place of one of an earlier proposal', again({ decision: { type: 'deny' }, endedVotes: ['alice'] })],
    ['a policy whose people have no form', both(known([{ id: 'alice', identities: 3 }]), 'alice', 'desk#al')],
  ])('not %s', (_, told) => {
    expect(words(told).filter((word) => word !== 'ended-votes')).toEqual([]);
  });

  it.each<readonly [string, Story]>([
    ['only the policy before the last one knew', both(known([], known([alice])), 'alice', 'desk#al')],
    ['only the full case folding knows', both(known([{ ...alice, id: 'Straße' }]), 'STRASSE', 'desk#al')],
  ])('what %s is not proven', (_, told) => {
    expect(words(told)).toEqual(['other-names']);
  });
});
