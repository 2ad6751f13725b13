import { describe, expect, it } from '@jest/globals';
import { digestOf } from '../legality/digests.js';
import { minute, recordedAt, story } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';

type Members = Readonly<Record<string, unknown>>;

const entry = (principal: string, roles = ['approver'], groups: readonly string[] = []): Members => ({
  ...{ credential: `token:${principal}`, principal, roles, groups, agentIds: [] },
  rights: digestOf({ principal, groups }),
});
const proof = (name: string): Members => ({ credential: `token:${name}`, roles: ['approver'] });
/** Dan may respond in the place of carol, unless their delegation is not in it. */
const policyOf = (
  bobs: readonly string[],
  delegates: readonly Members[] = [{ to: 'dan', from: minute(-9), until: minute(900) }],
): Members => {
  const approvers = [
    { id: 'bob', groups: bobs },
    { id: 'carol', groups: ['ops'], delegates },
  ];
  const content = { version: 1, rules: [], approvers };
  return { policyVersion: digestOf(content), content, activatedAt: minute(2) };
};
const known = (): Story =>
  story()
    .policy()
    .policy(policyOf(['ops', 'fin']))
    .append('system-default-p1', 'ConfigurationChanged', {
      ...{ processId: 'p1', configures: 'tokens', digest: null, changed: [], removed: [], summary: [] },
      ...{
        added: [
          entry('agent', ['agent']),
          ...['bob', 'carol', 'dan'].map((name) => entry(name)),
          entry('alice', ['approver'], ['ops']),
        ],
      },
      changedAt: minute(0),
    });
const asked = (told = known()): Story => told.request().ask({ expiresAt: null }, { expiresInMs: 'never' });
const bob = asked().respond('bob', { ...proof('bob'), groups: ['ops', 'fin'] });
const dan = asked().respond('dan', { ...proof('dan'), onBehalfOf: 'carol' });
/** Then alice decides, so many minutes after the change of the policy. */
const decided = (told: Story, minutes: number): readonly string[] =>
  wordsOf(
    told.respond('alice', {
      ...{ ...proof('alice'), resolution: 'approved' },
      ...{ respondedAt: minute(2 + minutes), executeBy: minute(12 + minutes) },
    }),
  );
const changed = (told: Story, ...policy: Parameters<typeof policyOf>): Story =>
  recordedAt(minute(2), told.policy(policyOf(...policy)));
const lost = [expect.stringContaining('vote: it decides with a vote whose person has lost')];

describe('a vote that counts when another one decides', () => {
  it.each<readonly [string, Story]>([
    ['is of a person with their group', bob],
    ['is of a person who has lost another group', changed(bob, ['ops'])],
    ['is of a delegate', dan],
  ])('%s', (_, told) => {
    expect(decided(told, 20)).toEqual([]);
  });

  it.each<readonly [string, Story]>([
    ['its group', changed(bob, ['fin'])],
    ['its group, two policies ago', changed(changed(bob, ['fin']), [])],
    ['its delegation', changed(dan, ['ops'], [])],
  ])('is found where its person has lost %s, and listed in the 15 minutes after that', (_, told) => {
    expect(decided(told, 20)).toEqual(lost);
    expect(decided(told, 10)).toEqual(['earlier-votes']);
  });

  it('is not found twice where its person never had the group', () => {
    const told = asked().respond('carol', { ...proof('carol'), groups: ['ops', 'none'] });
    expect(decided(changed(told, ['ops']), 20)).toEqual([expect.stringContaining('nothing gave carol the group none')]);
  });
});
