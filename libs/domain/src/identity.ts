import type { Responder } from './tool-call.commands.js';

/** The people of a vote: the voter and, for a delegate, the represented person. */
export interface Voter {
  readonly respondedBy: string;
  readonly onBehalfOf: string | null;
}

/** One way in which a person may respond: in their own right, or as a delegate with the groups of the delegator. */
export interface Voice extends Voter {
  readonly groups: readonly string[];
}

/**
 * The voices of a person, their own right first: a delegation is used only where it is needed. A delegator's own
 * delegators are not among them, because delegations do not chain.
 */
export function voicesOf({ principal, groups, delegators = [] }: Responder): readonly Voice[] {
  const asDelegate = delegators.map((one) => ({
    respondedBy: principal,
    onBehalfOf: one.principal,
    groups: one.groups,
  }));
  return [{ respondedBy: principal, onBehalfOf: null, groups }, ...asDelegate];
}

/** A principal in the form in which it is compared: channels differ in case and surrounding blanks. */
export function normalised(principal: string): string {
  return principal.trim().toLowerCase();
}

/** All names of a person, in the form in which they are compared. */
export function namesOf({ principal, aliases = [] }: Pick<Responder, 'principal' | 'aliases'>): readonly string[] {
  return [principal, ...aliases].map(normalised);
}

/** All names of the people of one voice. */
export function voiceNames(responder: Responder, onBehalfOf: string | null): readonly string[] {
  const delegator = responder.delegators?.find(({ principal }) => principal === onBehalfOf);
  return [...namesOf(responder), ...(delegator === undefined ? [] : namesOf(delegator))];
}

/** Returns whether a principal is one of the people of a vote. */
export function isBehind(voter: Voter, principal: string): boolean {
  const wanted = normalised(principal);
  return (
    normalised(voter.respondedBy) === wanted || (voter.onBehalfOf !== null && normalised(voter.onBehalfOf) === wanted)
  );
}

/** Returns whether two votes would count one person twice, directly or through a delegate. */
export function isSamePerson(one: Voter, other: Voter): boolean {
  return isBehind(one, other.respondedBy) || (other.onBehalfOf !== null && isBehind(one, other.onBehalfOf));
}
