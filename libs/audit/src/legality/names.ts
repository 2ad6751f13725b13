import { personOfFrontEnd } from '@countersign/contracts';
import type { CountedVote } from './call-state.js';

/**
 * A name as it is compared: channels differ in case and in blanks around it. Attack: a second name of a person that looks the same,
 * so that they answer their own request, or have two votes. All versions have compared at least so: a log that breaks a rule by it
 * is illegal.
 */
export function compared(name: string): string {
  const seen = plain.test(name) ? name : name.normalize('NFKC').replace(unseen, '');
  return seen.trim().toLowerCase();
}

const plain = /^[ -~]*$/;

/** Characters that no reader sees. */
const unseen = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/** Returns whether two names are one in every version. */
export function isSameName(one: string, other: string): boolean {
  return compared(one) === compared(other);
}

/**
 * A name in the full case folding of Unicode, as newer versions compare it: `Straße` and `STRASSE` are one person. What breaks a rule
 * by this form alone is not proven, since an older version counted two people.
 */
export function folded(name: string): string {
  const characters = compared(name).replace(/[^ı]/gu, (one) => one.toUpperCase().toLowerCase());
  return characters.normalize('NFKC').trim();
}

/** Returns whether two names are one in the newest version. */
export function isSameFolded(one: string, other: string): boolean {
  return folded(one) === folded(other);
}

/** Returns whether two votes have a person in common by the full case folding alone. */
export function isFoldedVoice(one: Voice, other: Voice): boolean {
  return (
    !isSameVoice(one, other) &&
    peopleOf(one).some((name) => peopleOf(other).some((person) => isSameFolded(name, person)))
  );
}

type Voice = Pick<CountedVote, 'by' | 'onBehalfOf'>;

/** The person who voted and, for a delegate, the one who is represented. */
export function peopleOf({ by, onBehalfOf }: Voice): readonly string[] {
  return onBehalfOf === null ? [by] : [by, onBehalfOf];
}

/** The first of these names that no vote was cast under; undefined: each has one. */
export function notCounted(
  names: readonly string[],
  { votes }: { readonly votes: readonly Voice[] },
): string | undefined {
  return names.find((name) => !votes.some(({ by }) => isSameName(by, name)));
}

/** Returns whether two votes have a person in common, who would count twice. */
export function isSameVoice(one: Voice, other: Voice): boolean {
  return peopleOf(one).some((name) => isBehind(other, name));
}

/** Returns whether a person is behind a vote. */
export function isBehind(vote: Voice, name: string): boolean {
  return peopleOf(vote).some((person) => isSameName(person, name));
}

/** The people of the vote that counts under a name. */
export function peopleOfVote(
  approval: { readonly votes: readonly Voice[] } | null | undefined,
  name: string,
): readonly string[] {
  const vote = approval?.votes.find((one) => isBehind(one, name));
  return vote === undefined ? [name] : peopleOf(vote);
}

/** Returns whether a front end or an admin ends a vote in the name of a person of a front end whom they may end. */
export function mayEnd(by: string, roles: readonly string[], names: readonly string[]): boolean {
  return names.some((name) => {
    const person = personOfFrontEnd(name);
    if (person === undefined) return false;
    return roles.includes('admin') || (roles.includes('front-end') && person.frontEnd === by);
  });
}
