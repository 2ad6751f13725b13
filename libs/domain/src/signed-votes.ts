import { currentProposal } from './proposal.js';
import { needsSignature } from './requirement.js';
import { isCounted, tally } from './seats.js';
import type { Approval, Vote } from './tool-call.state.js';

/** Returns whether a person's signature stands behind a vote; the caller has verified it. */
export type IsValid = (vote: Vote) => boolean;

/**
 * Returns whether the people who signed are enough for the approval, where its rules count signed votes alone.
 *
 * Attack: the owner of the log appends an approval in the name of a person.
 */
export function isSignedEnough(approval: Approval, isValid: IsValid = (vote) => vote.signature !== null): boolean {
  if (!currentProposal(approval).requirements.some(needsSignature)) return true;
  const votes = approval.votes.map((vote): Vote =>
    isCounted(vote) && !isValid(vote) ? { ...vote, status: 'void' } : vote,
  );
  return tally({ ...approval, votes }) === 'approved';
}
