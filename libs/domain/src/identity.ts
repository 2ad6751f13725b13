/** The people of a vote: the voter and, for a delegate, the represented person. */
export interface Voter {
  readonly respondedBy: string;
  readonly onBehalfOf: string | null;
}

/** A principal in the form in which it is compared: channels differ in case and surrounding blanks. */
export function normalised(principal: string): string {
  return principal.trim().toLowerCase();
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
