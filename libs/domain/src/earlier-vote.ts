import { comparedIdentity } from './compared-identity.js';
import type { EventData } from '@countersign/contracts';
import { provenNames, voiceNames } from './identity.js';
import type { RespondToApproval } from './tool-call.response-commands.js';
import type { Approval, Vote } from './tool-call.state.js';
import { agrees, isCounted } from './seats.js';

/**
 * The earlier vote of this person, or of the one in whose place they respond, for the same proposal, under any name.
 *
 * Attack: a person refuses, the proposal is edited, and their delegate agrees in their place, or a front end in their name there. A
 * delegate replaces no refusal of the delegator, or of another delegate, for any proposal, and a front end none that it did not pass on.
 */
export function earlierVote(
  approval: Approval,
  response: EventData<'ApprovalResponded'>,
  responder: RespondToApproval['responder'],
): Vote | undefined {
  const names = voiceNames(responder, response.onBehalfOf);
  return approval.votes.find(
    (vote) =>
      isCounted(vote) &&
      isOfOneOf(names, vote) &&
      (vote.proposal === response.proposal || (!agrees(vote) && !isOfOneOf(provenNames(responder), vote))),
  );
}

/** Whether a vote was cast by one of these names, or in its place. */
export function isOfOneOf(names: readonly string[], { respondedBy, onBehalfOf }: Vote): boolean {
  return isOneOf(names, respondedBy) || (onBehalfOf !== null && isOneOf(names, onBehalfOf));
}

/** Whether a principal is one of these names. */
export function isOneOf(names: readonly string[], principal: string): boolean {
  return names.includes(comparedIdentity(principal));
}
