/** Whoever stands behind a vote: the person and, where a delegate answered, the person represented. */
export interface Voter {
  readonly respondedBy: string;
  readonly onBehalfOf: string | null;
}

/** A principal in the form in which it is compared: channels differ in case and surrounding blanks. */
export function normalised(principal: string): string {
  return principal.trim().toLowerCase();
}

/** Whether a principal stands behind a vote, in person or represented. */
export function isBehind(voter: Voter, principal: string): boolean {
  const wanted = normalised(principal);
  return (
    normalised(voter.respondedBy) === wanted || (voter.onBehalfOf !== null && normalised(voter.onBehalfOf) === wanted)
  );
}

/** Whether two votes would count one person twice, directly or through a delegate. */
export function isSamePerson(one: Voter, other: Voter): boolean {
  return isBehind(one, other.respondedBy) || (other.onBehalfOf !== null && isBehind(one, other.onBehalfOf));
}
