import { approve, claim, deny, edit, request, respond, wait, withdraw } from './acts.ts';
import type { Command, Group } from './words.ts';
import { policies } from './world.ts';

const open = (...groups: readonly Group[]): Command => ({ type: 'desk', does: 'open', groups });
const narrow = (...groups: readonly Group[]): Command => ({ type: 'desk', does: 'narrow', groups });
const close: Command = { type: 'desk', does: 'close' };
const amyToo: Command = { type: 'identify', person: 'desk#amy', as: 'amy' };
const end = (person: string, by: 'desk' | 'admin' = 'desk'): Command => ({ type: 'end-person', person, by });

/** Attacks by a front end, and by its people under several names. */
export const deskCases: Readonly<Record<string, readonly Command[]>> = {
  'a person votes with their own token and at the front end': [
    ...[open('support'), amyToo, request(150), approve('amy'), approve('desk#amy'), claim()],
  ],
  'two who voted turn out to be one person': [
    ...[open('support'), request(150), edit('amy', 1_500), approve('desk#amy'), amyToo, approve('dan'), claim()],
  ],
  'a person of the front end is written in two ways': [
    ...[open('support'), request(150), approve('desk#kim'), approve('desk#Kim'), claim()],
  ],
  'the front end takes back what a person said elsewhere': [
    ...[open('support'), amyToo, request(150), approve('amy'), withdraw('desk#amy'), approve('ben'), claim()],
  ],
  'the front end replaces what a person said elsewhere': [
    ...[open('support'), amyToo, request(150), deny('amy'), edit('ben', 300), approve('desk#amy'), claim()],
  ],
  'a person takes back what they said at the front end': [
    ...[open('support'), amyToo, request(150), edit('desk#amy', 300), withdraw('amy'), approve('ben'), claim()],
  ],
  'a person takes back, under another name, their agreement to an edit whose vote was lost': [
    ...[open('support'), amyToo, request(150), edit('desk#amy', 300), close, open('support'), approve('amy')],
    ...[withdraw('amy'), approve('ben'), approve('cleo'), claim()],
  ],
  'a person leaves the front end before the decision': [
    ...[open('support'), request(150), approve('desk#kim'), end('desk#Kim'), approve('ben'), claim()],
    ...[approve('desk#kim'), claim()],
  ],
  'a person leaves the front end, and the edit that they proposed stays': [
    ...[open('support'), request(150), edit('desk#kim', 300), end('desk#kim', 'admin')],
    ...[approve('ben'), approve('cleo'), claim()],
  ],
  'a person whose vote was lost leaves the front end, and the edit that they proposed stays': [
    ...[open('support'), request(150), edit('desk#Kim', 300), close, open('support'), approve('ben')],
    ...[end('desk#Kim'), approve('cleo'), claim()],
  ],
  'what a person said elsewhere ends with the one of the front end': [
    ...[open('support'), amyToo, request(150), approve('amy'), end('desk#amy'), approve('ben'), claim()],
  ],
  'a delegate of a person who left the front end': [
    ...[open('support', 'security'), wait(12), wait(31), wait(12), request(150), edit('amy', 1_500), approve('ben')],
    ...[end('desk#lea'), approve('cleo'), approve('dan'), claim()],
  ],
  'the front end is not for the groups of a person in the policy file': [
    ...[open('support'), request(1_500), approve('desk#lea'), claim()],
  ],
  'the front end is for fewer groups at the decision': [
    ...[open('support', 'managers'), request(150), approve('desk#kim'), narrow('managers'), approve('ben'), claim()],
  ],
  'the token of the front end is gone, and another one in its place': [
    ...[open('support'), request(150), approve('desk#kim'), close, approve('desk#amy'), open('support')],
    ...[approve('ben'), claim(), approve('desk#kim'), claim()],
  ],
  'a person agrees to a call that acts for their name at the front end': [
    ...[open('support'), amyToo, { ...request(150), onBehalfOf: 'desk#amy' }, approve('amy'), approve('ben'), claim()],
  ],
  'a person of the front end wants their approval remembered, and one of whom it is not sure votes': [
    open('support'),
    request(5),
    {
      ...respond('desk#amy', { type: 'approve' }),
      remember: { match: 'tool', scope: 'run', expiresIn: 600, maxUses: null },
    },
    ...([{ type: 'policy', policy: policies[1] }, request(150, null, 2), approve('desk#kim', null, 2)] as const),
  ],
};
