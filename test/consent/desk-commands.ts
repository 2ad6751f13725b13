import fc from 'fast-check';
import { respond, withdraw } from './acts.ts';
import type { Command, Decision, Group } from './words.ts';
import { deskPeople, isOfDesk } from './world.ts';

const groups = fc.subarray<Group>(['support', 'managers', 'security']);
const person = fc.constantFrom(...Object.keys(deskPeople));

/** The front end gets a token. */
export const deskOpens: fc.Arbitrary<Command> = fc
  .constantFrom<readonly Group[]>(['support', 'managers', 'security'], ['support', 'security'], ['support'])
  .map((all) => ({ type: 'desk', does: 'open', groups: all }));

/** What happens to the front end and its people. */
export const deskChanges: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('end-person' as const),
      ...{ person, by: fc.constantFrom('desk' as const, 'desk' as const, 'admin' as const) },
    }),
  },
  { weight: 2, arbitrary: groups.map((to): Command => ({ type: 'desk', does: 'narrow', groups: to })) },
  { weight: 1, arbitrary: deskOpens },
  { weight: 1, arbitrary: fc.constant<Command>({ type: 'desk', does: 'close' }) },
);

/** Names that turn out to be those of a person. */
export const identities = fc.constantFrom<Extract<Command, { type: 'identify' }>>(
  { type: 'identify', person: 'amy@corp.example', as: 'amy' },
  { type: 'identify', person: 'desk#amy', as: 'amy' },
  { type: 'identify', person: 'desk#Kim', as: 'cleo' },
);

/** The names of each person, and how one of them turns out to be theirs. */
const ofOnePerson = [
  ['amy', 'desk#amy', 'amy@corp.example', 'desk#amy'],
  ['desk#kim', 'desk#Kim', 'cleo', 'desk#Kim'],
  ['eve', 'desk#lea', 'ben', 'dan'],
] as const;

/** What one person says about a call, under several names, and what another says in between. */
export const manyNames = (decision: fc.Arbitrary<Decision>): fc.Arbitrary<readonly Command[]> =>
  fc.constantFrom(...ofOnePerson).chain((names) => {
    const by = fc.constantFrom(...names);
    const said = (who: fc.Arbitrary<string>): fc.Arbitrary<Command> =>
      fc.tuple(who, decision).map(([one, what]) => respond(one, what));
    return fc.array(
      fc.oneof(
        { weight: 6, arbitrary: said(by) },
        { weight: 2, arbitrary: by.map(withdraw) },
        { weight: 2, arbitrary: said(fc.constantFrom('ben', 'dan')) },
        { weight: 2, arbitrary: identities },
        { weight: 1, arbitrary: deskChanges },
      ),
      { minLength: 3, maxLength: 7 },
    );
  });

const instead: Readonly<Record<string, string>> = {
  ...{ 'desk#kim': 'cleo', 'desk#Kim': 'eve', 'desk#amy': 'amy', 'desk#lea': 'dan' },
};

const own = (name: string): string => instead[name] ?? name;

/** The same world without the front end: others do what its people did. */
export function withoutDesk(commands: readonly Command[]): readonly Command[] {
  return commands.flatMap((one): readonly Command[] => {
    switch (one.type) {
      case 'desk':
      case 'end-person':
        return [];
      case 'identify':
        return isOfDesk(one.person) ? [] : [one];
      case 'request':
        return [{ ...one, onBehalfOf: one.onBehalfOf === null ? null : own(one.onBehalfOf) }];
      case 'respond':
      case 'withdraw':
      case 'approve-all':
        return [{ ...one, by: own(one.by) }];
      default:
        return [one];
    }
  });
}
