import { expect, it } from '@jest/globals';
import { parseTokenEntries } from './token-entries.js';

const desk = {
  token: 'd',
  principal: 'desk',
  roles: ['front-end'],
  people: { groups: ['support'], maxAssurance: 'medium' },
};
const ann = { token: 'a', principal: 'ann', roles: ['approver'] };

it('a front end says for whom it speaks; without more it may give no group and little assurance', () => {
  expect(
    parseTokenEntries([desk, { ...desk, token: 'e', people: {} }], 'tokens.json').map(({ people }) => people),
  ).toEqual([
    { groups: ['support'], maxAssurance: 'medium' },
    { groups: [], maxAssurance: 'low' },
  ]);
  const both = { ...desk, roles: ['agent', 'front-end'] };
  expect(parseTokenEntries([both], 'tokens.json')).toHaveLength(1);
  const ofProvider = { ...ann, principal: 'https://id.example.com#1' };
  expect(
    parseTokenEntries([desk, ofProvider, { ...ann, token: 'b', principal: 'team#1' }], 'tokens.json'),
  ).toHaveLength(3);
});

it.each([
  ['0.people: say for whom the front end may speak', [{ ...desk, people: undefined }]],
  ['0.people: is only for an entry with the role front-end', [{ ...desk, roles: ['agent'] }]],
  [
    '0.roles: front-end can stand with agent alone, and not with approver',
    [{ ...desk, roles: ['front-end', 'approver'] }],
  ],
  ['0.groups: are those of a person: write people.groups', [{ ...desk, groups: ['ops'] }]],
  [
    '0.people.maxAssurance: must be "low" or "medium": only the signature',
    [{ ...desk, people: { maxAssurance: 'high' } }],
  ],
  ['0.people.groups.0: contains the invisible character', [{ ...desk, people: { groups: ['o\u200bps'] } }]],
  ['0.principal: must not contain "#"', [{ ...desk, principal: 'desk#1' }]],
  ['0.principal: must not contain "#" or "://"', [{ ...desk, principal: 'https://id.example.com' }]],
  ['0.principal: is the name of a built-in channel', [{ ...desk, principal: 'Inbox' }]],
  ['1.principal: is a person of the front end "desk"', [desk, { ...ann, principal: 'Desk#kim' }]],
  ['1.principal: differs from the front end "desk" in case alone', [desk, { ...desk, token: 'e', principal: 'Desk' }]],
  [
    '1.principal: differs from the front end "straße" in case alone',
    [
      { ...desk, principal: 'straße' },
      { ...desk, token: 'e', principal: 'STRASSE' },
    ],
  ],
])('a tokens file is refused: %s', (problem, entries) => {
  expect(() => parseTokenEntries(entries, 'tokens.json')).toThrow(problem);
});

it('the people of a front end of another tenant have other names', () => {
  const other = { ...ann, principal: 'desk#kim', tenant: 'other' };
  expect(parseTokenEntries([desk, other], 'tokens.json')).toHaveLength(2);
});
