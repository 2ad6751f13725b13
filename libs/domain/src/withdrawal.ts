import type { EventData } from '@countersign/contracts';
import { backToLastRun, backToRequest, currentProposal } from './proposal.js';
import type { Approval } from './tool-call.state.js';
import { isBehindInLog } from './identity.js';
import { isCounted } from './seats.js';
import { isBacked, standingVoteBy, withdrawVote, withoutApprovals } from './voting.js';

/** The approval after the withdrawal of a vote, which may end the proposal. */
export function afterWithdrawal(before: Approval, data: EventData<'ResponseWithdrawn'>): Approval {
  const { castBy = data.withdrawnBy } = data;
  const counted = before.votes.find((one) => isCounted(one) && isBehindInLog(one, castBy));
  // What is asked ends with its person, also where their vote was lost before.
  const vote = counted ?? (data.ends === 'proposal' ? standingVoteBy(before, [castBy]) : undefined);
  const approval = vote === undefined ? before : withdrawVote(before, vote);
  switch (data.ends) {
    case 'vote':
      return approval;
    case 'proposal':
      return withoutApprovals(backToRequest(approval, data.withdrawnAt));
    case 'unbacked-answer': {
      const stays = currentProposal(approval).kind === 'run' || isBacked(approval);
      return stays ? approval : withoutApprovals(backToLastRun(approval, data.withdrawnAt));
    }
  }
}
