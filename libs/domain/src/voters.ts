import { comparedIdentity } from './compared-identity.js';
import { isSamePersonInLog, voiceNames } from './identity.js';
import type { Voice } from './identity.js';
import { requirementOf } from './proposal.js';
import { requestersOf } from './requesters.js';
import type { RespondToApproval, VoterNow } from './tool-call.response-commands.js';
import type { Approval, ToolCall, Vote } from './tool-call.state.js';
import { agrees, isCounted, isStillApprover } from './seats.js';
import { withoutVotesOf } from './voting.js';

/** An approval of a call. */
interface Asked {
  readonly call: Pick<ToolCall, 'request'>;
  readonly approval: Approval;
}

type KnownNow = Pick<RespondToApproval, 'voters' | 'removedPasskeys'>;

/**
 * The earlier voters whose votes do not count at this decision: they may no longer respond in the stage in which they
 * voted, they agreed to a request that is now known as their own, or another vote is of the same person under another
 * name. A refusal counts before an agreement of the same person, and what they said themselves before what a front end says.
 */
export function lostVoters(asked: Asked, { voters = [], removedPasskeys = [] }: KnownNow): readonly string[] {
  const counted: string[] = [];
  const lost: string[] = [];
  const votes = asked.approval.votes.filter(isCounted).flatMap((vote) => {
    const now = voters.find((one) => one.respondedBy === vote.respondedBy && one.onBehalfOf === vote.onBehalfOf);
    return now === undefined ? [] : [{ vote, now }];
  });
  for (const { vote, now } of votes.toSorted((one, other) => rankOf(one) - rankOf(other))) {
    const names = now.names.map(comparedIdentity);
    const isSigned = vote.signature === null || !removedPasskeys.includes(vote.signature.credentialId);
    const holds = isSigned && mayStillVote(asked, vote, now) && !names.some((name) => counted.includes(name));
    if (holds) counted.push(...names);
    else lost.push(vote.respondedBy);
  }
  return lost;
}

/** The order in which the votes of one person count. */
function rankOf({ vote, now }: { readonly vote: Vote; readonly now: VoterNow }): number {
  return (agrees(vote) ? 2 : 0) + (now.isVouched === true ? 1 : 0);
}

/** Attack: a person agrees to their own request under a name that the files do not know yet as theirs. */
function mayStillVote({ call, approval }: Asked, vote: Vote, { groups, names }: VoterNow): boolean {
  if (groups === null || !isStillApprover(approval, vote, groups)) return false;
  if (!agrees(vote) || !requirementOf(approval).fourEyes) return true;
  const own = names.map(comparedIdentity);
  return !requestersOf(call, approval).some((one) => own.includes(comparedIdentity(one)));
}

/** The approval with the votes alone that count now. */
export function withVotersNow(asked: Asked, known: KnownNow): Approval {
  return known.voters === undefined ? asked.approval : withoutVotesOf(asked.approval, lostVoters(asked, known));
}

/** The earlier votes of the responding person that the new one replaces, and that its replay would not: under their other names. */
export function ownVotes(approval: Approval, { responder }: RespondToApproval, voice: Voice): readonly string[] {
  const names = voiceNames(responder, voice.onBehalfOf);
  const isOwn = ({ respondedBy, onBehalfOf }: Vote): boolean =>
    names.includes(comparedIdentity(respondedBy)) ||
    (onBehalfOf !== null && names.includes(comparedIdentity(onBehalfOf)));
  return approval.votes.flatMap((vote) =>
    vote.status === 'counted' && !isSamePersonInLog(vote, voice) && isOwn(vote) ? [vote.respondedBy] : [],
  );
}
