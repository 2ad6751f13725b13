import { expect, it } from '@jest/globals';
import { digestOf } from '../legality/digests.js';
import { minute, policy, story } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';

type Members = Readonly<Record<string, unknown>>;

const entry = (principal: string, roles: readonly string[], more: Members = {}): Members => ({
  ...{ credential: `token:${principal}`, principal, roles, groups: [], agentIds: [] },
  ...{ rights: digestOf({ principal, ...more }), ...more },
});
const desk = (people: Members = {}): Members =>
  entry('desk', ['front-end'], { people: { groups: ['ops'], maxAssurance: 'medium', ...people } });
const asked = (of: Members = desk()): Story => {
  const added = [
    entry('agent', ['agent']),
    entry('root', ['admin']),
    entry('alice', ['approver'], { groups: ['ops'] }),
    entry('eve', ['approver']),
    of,
  ];
  return story()
    .policy()
    .append('system-default-p1', 'ConfigurationChanged', {
      ...{ processId: 'p1', configures: 'tokens', digest: null, added, changed: [], removed: [], summary: [] },
      changedAt: minute(0),
    })
    .request()
    .ask();
};
const vouched = { credential: 'token:desk', roles: ['approver'], vouchedBy: 'desk', via: 'desk', assurance: 'medium' };
const voted = (more: Members = {}, by = 'desk#kim', told = asked()): Story => told.respond(by, { ...vouched, ...more });
const ended = (by: string, roles: readonly string[], castBy = 'desk#kim', told = voted()): Story =>
  told.withdraw(by, { credential: `token:${by}`, roles, castBy });

it.each<readonly [string, Story]>([
  ['answers', voted()],
  ['answers, a little sure', voted({ assurance: 'low' })],
  ['is ended by the front end', ended('desk', ['front-end'])],
  ['is ended by an admin', ended('root', ['admin'])],
  ['withdraws', voted().withdraw('desk#kim', { credential: 'token:desk', roles: ['approver'], vouchedBy: 'desk' })],
])('a person of a front end %s', (_, told) => {
  expect(wordsOf(told)).toEqual([]);
});

const { vouchedBy: _front, ...own } = vouched;
const unvouched = asked().respond('desk#kim', own);
const ofAlice = asked().respond('alice', { credential: 'token:alice', roles: ['approver'] });

const delegated = (of = 'desk#kim'): Story => {
  const approvers = [{ id: of, groups: ['ops'], delegates: [{ to: 'alice', from: minute(-9), until: minute(9) }] }];
  const content = { ...policy, approvers };
  const told = asked().policy({ content, policyVersion: digestOf(content) });
  return told.respond('alice', { credential: 'token:alice', roles: ['approver'], onBehalfOf: of });
};

it.each(['desk', 'root'])('a vote that a delegate cast in place of a person of a front end is ended by %s', (by) => {
  const roles = [by === 'desk' ? 'front-end' : 'admin'];
  expect(wordsOf(ended(by, roles, 'alice', delegated()))).toEqual([]);
  expect(wordsOf(ended(by, roles, 'alice', delegated('alice2'))).join()).toContain('may not end the votes of alice');
});

it('an approver who ends the vote of a person of a front end may be the same one under another name', () => {
  const own = { credential: 'token:alice', roles: ['approver'] };
  expect(wordsOf(voted().withdraw('alice', { ...own, castBy: 'desk#kim' }))).toEqual(['ended-votes']);
});

it.each(['desk#kim', 'alice'])('a person of a front end ends no vote of %s, whoever that is', (castBy) => {
  const told = castBy === 'alice' ? ofAlice : voted();
  const ofFrontEnd = { credential: 'token:desk', roles: ['approver'], vouchedBy: 'desk' };
  expect(wordsOf(told.withdraw('desk#lee', { ...ofFrontEnd, castBy })).join()).toContain(
    `a front end ends the vote of ${castBy} in the name of desk#lee`,
  );
});

it('a person of a front end ends their vote under another spelling', () => {
  const ofFrontEnd = { credential: 'token:desk', roles: ['approver'], vouchedBy: 'desk' };
  const told = voted({}, 'desk#Straße').withdraw('desk#STRASSE', { ...ofFrontEnd, castBy: 'desk#Straße' });
  expect(wordsOf(told)).toEqual([]);
});

it.each<readonly [string, string, Story]>([
  ['for a person of another', 'alice is no person of the front end desk', voted({}, 'alice')],
  [
    'without its credential',
    'token:alice is no credential of the front end desk',
    voted({ credential: 'token:alice' }),
  ],
  ['with a group that it may not give', 'could not give desk#kim these groups', voted({ groups: ['ops', 'fin'] })],
  [
    'too sure',
    'could not give desk#kim these groups or this assurance',
    voted({}, 'desk#kim', asked(desk({ maxAssurance: 'low' }))),
  ],
  ['with more roles', 'people of a front end have not the roles: admin', voted({ roles: ['admin', 'approver'] })],
  [
    'with a token without the role',
    'is no credential of the front end',
    voted({}, 'desk#kim', asked(entry('desk', ['approver']))),
  ],
  ['without saying so', 'token:desk is a credential of desk, and not of desk#kim', unvouched],
  [
    'for a person without any credential',
    'only the token of a front end vouches for people: desk',
    asked().respond('eve', { vouchedBy: 'desk', roles: ['approver'] }),
  ],
  [
    'for a person of a chat',
    'only the token of a front end vouches for people: desk',
    voted({ credential: 'slack:T1:U1' }, 'eve'),
  ],
  [
    'and ends the vote of another person',
    'desk may not end the votes of alice',
    ended('desk', ['front-end'], 'alice', ofAlice),
  ],
  [
    'and an admin ends the vote of another person',
    'root may not end the votes of alice',
    ended('root', ['admin'], 'alice', ofAlice),
  ],
])('a front end speaks %s, which is found', (_, words, told) => {
  expect(wordsOf(told).join('\n')).toContain(words);
});
