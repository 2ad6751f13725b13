import { describe, expect, it } from '@jest/globals';
import type { StoredEvent } from '@countersign/contracts';
import { digestOf } from '../legality/digests.js';
import { minute, story } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';

type Members = Readonly<Record<string, unknown>>;

const entry = (principal: string, groups: readonly string[] = [], more: Members = {}): Members => ({
  ...{ credential: `token:${principal}`, principal, roles: ['approver'], groups, agentIds: [] },
  ...{ rights: digestOf({ principal, ...more }), ...more },
});
const changed = (told: Story, change: Members): Story =>
  told.append('system-default-p', 'ConfigurationChanged', {
    ...{ processId: 'p', configures: 'tokens', digest: null, added: [], changed: [], removed: [], summary: [] },
    ...{ changedAt: minute(-9), ...change },
  });
const desk = (group: string): Members =>
  entry('desk', [], { roles: ['front-end'], people: { groups: [group], maxAssurance: 'medium' } });
const agent = entry('agent', [], { roles: ['agent'] });
const people = (...added: readonly Members[]): Story => changed(story(), { added: [agent, ...added] });
const policyOf = (...approvers: readonly Members[]) => {
  const content = { version: 2, rules: [], approvers };
  return { policyVersion: digestOf(content), content, activatedAt: minute(-8) };
};

/** Silence approves at minute 4 what one person of `security` was asked. The day is one on which silence is strict. */
function silent(told: Story, stage: Members = { approve: 1 }, request: Members = {}): Story {
  const stages = [{ mode: 'quorum', deny: 1, groups: ['security'], ...stage }] as never;
  const { events } = told
    .policy()
    .request(request)
    .ask({ expiresAt: minute(4) }, { stages, onTimeout: 'allow', expiresInMs: 240_000 })
    .respond('policy', {
      ...{ automatic: true, via: 'policy', groups: [], assurance: 'low', respondedAt: minute(4) },
      ...{ resolution: 'approved', executeBy: minute(14) },
    });
  return story(JSON.parse(JSON.stringify(events).replaceAll('2026-11-27', '2026-12-04')) as StoredEvent[]);
}

const said = (told: Story): readonly string[] =>
  wordsOf(told).filter((word) => word.startsWith('silence:') || word === 'silent-people');
const tooFew = ['silence: too few people were left who could respond'];
const bob = entry('bob', ['security']);
const removed = (by: Members, minutes: number): Story =>
  changed(people(bob), { removed: [by], changedAt: minute(minutes) });

/** The operator puts a policy in force that gives nobody a group, and the process goes on to say that it has the one before. */
function withoutGroup(): Story {
  const before = { ...policyOf({ id: 'bob', groups: ['security'] }), activatedAt: minute(-30) };
  const told = people(entry('bob')).policy(before);
  return changed(told, { configures: 'policy', digest: before.policyVersion }).policy({
    ...policyOf({ id: 'bob', groups: [] }),
    activatedAt: minute(-20),
  });
}

describe('silence approves', () => {
  it.each<[string, Story]>([
    ['where somebody of the tokens file is in the group', silent(people(bob))],
    [
      'where the policy gives the group',
      silent(people(entry('bob')).policy(policyOf({ id: 'bob', groups: ['security'] }))),
    ],
    [
      'where the channels file gives it',
      silent(changed(people(entry('bob')), { configures: 'people', summary: ['bob security'] })),
    ],
    ['where the person was removed less than 15 minutes before', silent(removed(bob, -10))],
    ['where people of a front end may be in the group', silent(people(desk('security')), { approve: 2 })],
    ['where any approver may respond', silent(people(entry('bob')), { approve: 1, groups: null })],
  ])('%s', (_, told) => {
    expect(said(told)).toEqual([]);
  });

  it.each<[string, Story]>([
    ['nobody is in the group', silent(people(entry('bob', ['ops'])))],
    ['the person of the group is no approver', silent(people(entry('bob', ['security'], { roles: ['auditor'] })))],
    ['the person of the group was removed long before', silent(removed(bob, -12))],
    ['two must agree, and one is left', silent(people(bob), { approve: 2 })],
    ['the only one left is whose request it is', silent(people(bob), { approve: 1 }, { onBehalfOf: 'Bob' })],
    ['the people of a front end cannot be in the group', silent(people(desk('ops')))],
    ['no approver is left at all', silent(people(), { approve: 1, groups: null })],
    ['the last policy takes the group away, and a process says that it has another one', silent(withoutGroup())],
  ])('nothing where %s', (_, told) => {
    expect(said(told)).toEqual(tooFew);
  });

  it.each<[string, Story]>([
    ['nothing is recorded of the people', story()],
    ['a provider gives roles', changed(people(), { configures: 'oidc', summary: ['issuer https://id.example/'] })],
    [
      'another process ends the questions',
      people().append('system-default-q', 'ProcessStarted', {
        ...{ processId: 'q', role: 'projector', version: '1', commit: null, files: {}, startedAt: minute(-9) },
      }),
    ],
  ])('and it is listed that nobody of the group is known where %s', (_, told) => {
    expect(said(silent(told))).toEqual(['silent-people']);
  });
});
