import { isSamePerson, normalised, voiceNames } from './identity.js';
import type { Voice } from './identity.js';
import type { RespondToApproval, VoterNow } from './tool-call.commands.js';
import type { Approval, Vote } from './tool-call.state.js';
import { isStillApprover } from './seats.js';
import { withoutVotesOf } from './voting.js';

/**
 * The earlier voters whose votes do not count at this decision: they may no longer respond in the stage in which they
 * voted, or an earlier vote is of the same person under another name.
 */
export function lostVoters(approval: Approval, voters: readonly VoterNow[]): readonly string[] {
  const counted: string[] = [];
  const lost: string[] = [];
  for (const vote of approval.votes) {
    if (vote.status !== 'counted') continue;
    const now = voters.find((one) => one.respondedBy === vote.respondedBy && one.onBehalfOf === vote.onBehalfOf);
    if (now === undefined) continue;
    const names = now.names.map(normalised);
    const holds = now.groups !== null && isStillApprover(approval, vote, now.groups);
    if (holds && !names.some((name) => counted.includes(name))) counted.push(...names);
    else lost.push(vote.respondedBy);
  }
  return lost;
}

/** The approval with the votes alone that count now. */
export function withVotersNow(approval: Approval, { voters = [] }: Pick<RespondToApproval, 'voters'>): Approval {
  return voters.length === 0 ? approval : withoutVotesOf(approval, lostVoters(approval, voters));
}

/** The earlier votes of the responding person under their other names: the new vote replaces them. */
export function ownVotes(approval: Approval, { responder }: RespondToApproval, voice: Voice): readonly string[] {
  const names = voiceNames(responder, voice.onBehalfOf);
  const isOwn = ({ respondedBy, onBehalfOf }: Vote): boolean =>
    names.includes(normalised(respondedBy)) || (onBehalfOf !== null && names.includes(normalised(onBehalfOf)));
  return approval.votes.flatMap((vote) =>
    vote.status === 'counted' && !isSamePerson(vote, voice) && isOwn(vote) ? [vote.respondedBy] : [],
  );
}
