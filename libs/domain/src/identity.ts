import { comparedIdentity } from './compared-identity.js';
import type { Responder } from './tool-call.response-commands.js';

/** The people of a vote: the voter and, for a delegate, the represented person. */
export interface Voter {
  readonly respondedBy: string;
  readonly onBehalfOf: string | null;
}

/** One way in which a person may respond: in their own right, or as a delegate with the groups of the delegator. */
export interface Voice extends Voter {
  readonly groups: readonly string[];
  /** Those of `groups` that only files gave. Absent: none, or it does not matter. */
  readonly groupsOfFiles?: readonly string[];
}

/**
 * The voices of a person, their own right first: a delegation is used only where it is needed. A delegator's own
 * delegators are not among them, because delegations do not chain.
 */
export function voicesOf({ principal, delegators = [], ...own }: Responder): readonly Voice[] {
  const asDelegate = delegators.map((one) => ({
    respondedBy: principal,
    onBehalfOf: one.principal,
    ...groupsOf(one),
  }));
  return [{ respondedBy: principal, onBehalfOf: null, ...groupsOf(own) }, ...asDelegate];
}

function groupsOf({ groups, groupsOfFiles }: Pick<Voice, 'groups' | 'groupsOfFiles'>) {
  return { groups, ...(groupsOfFiles !== undefined && { groupsOfFiles }) };
}

/** All names of a person, in the form in which they are compared. */
export function namesOf({ principal, aliases = [] }: Pick<Responder, 'principal' | 'aliases'>): readonly string[] {
  return [principal, ...aliases].map(comparedIdentity);
}

/**
 * The names of a person whose responses the channel may end or replace: all of them where the person proved themselves.
 *
 * Attack: the policy file says that a person of a front end is one who signs in too. The front end speaks for its own person alone,
 * or it would end a refusal that the other gave there, with groups that it has not.
 */
export function provenNames(responder: Pick<Responder, 'principal' | 'aliases' | 'vouchedBy'>): readonly string[] {
  return responder.vouchedBy === undefined ? namesOf(responder) : [comparedIdentity(responder.principal)];
}

/** All names of the people of one voice. */
export function voiceNames(responder: Responder, onBehalfOf: string | null): readonly string[] {
  const delegator = responder.delegators?.find(({ principal }) => principal === onBehalfOf);
  return [...namesOf(responder), ...(delegator === undefined ? [] : namesOf(delegator))];
}

/** Returns whether a principal is one of the people of a vote. */
export function isBehind(voter: Voter, principal: string): boolean {
  return isBehindAs(comparedIdentity, voter, principal);
}

/** Returns whether two names are those of one person. */
export function isSameIdentity(one: string, other: string): boolean {
  return comparedIdentity(one) === comparedIdentity(other);
}

/**
 * A principal as the replay of the log compares it: in lower case, without blanks around it. It stays so for ever, since another
 * comparison would void votes that are recorded and counted. A vote that another one replaces by a newer comparison alone is named
 * in the event (`endedVotes`, `castBy`).
 */
function inLog(principal: string): string {
  return principal.trim().toLowerCase();
}

/** Like {@link isBehind}, as the replay of the log compares names. */
export function isBehindInLog(voter: Voter, principal: string): boolean {
  return isBehindAs(inLog, voter, principal);
}

/** Returns whether the replay of the log replaces the one vote by the other: one person, directly or through a delegate. */
export function isSamePersonInLog(one: Voter, other: Voter): boolean {
  return isBehindInLog(one, other.respondedBy) || (other.onBehalfOf !== null && isBehindInLog(one, other.onBehalfOf));
}

function isBehindAs(form: (name: string) => string, { respondedBy, onBehalfOf }: Voter, principal: string): boolean {
  const wanted = form(principal);
  return form(respondedBy) === wanted || (onBehalfOf !== null && form(onBehalfOf) === wanted);
}
