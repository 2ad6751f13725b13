import { proposalDigest, shownDigest } from '@countersign/contracts';
import type { RespondBody } from '@countersign/contracts';
import { digestInputOf, instructionsOf, shownRevisionOf } from '@countersign/domain';
import type { Approval, RespondToApproval, ToolCall } from '@countersign/domain';
import type { CommandPorts } from '../ports.js';
import { lostVotes } from '../request/approvers.js';

/**
 * The digests that the person was shown, with the current ones. They are computed only to be compared. The digest of all
 * that was shown says which proposal was.
 */
export function toShown(
  ports: CommandPorts,
  call: ToolCall,
  approval: Approval | undefined,
  { proposalDigest: shown, shownDigest: shownWhole, shownRevision }: RespondBody,
): Pick<RespondToApproval, 'proposalDigest' | 'shownDigest' | 'shownRevision'> {
  if (approval === undefined) return { proposalDigest: null };
  // Of the recorded votes, as the views have it: one that does not count now may count again.
  const revision = shownRevision && { shownRevision: { shown: shownRevision, current: shownRevisionOf(approval) } };
  if ((shown ?? shownWhole) === undefined) return { proposalDigest: null, ...revision };
  const current = proposalDigest(digestInputOf(approval, call.request.salt));
  return {
    proposalDigest: { shown: shown ?? current, current },
    shownDigest: { shown: shownWhole ?? null, current: toldDigest(ports, call, approval, { current, shownWhole }) },
    ...revision,
  };
}

/**
 * The digest of the instructions of the votes that count now. A person who saw those of votes that no longer count as well, as on a
 * card of a process that does not know the people, has seen all that the agent gets.
 */
function toldDigest(
  ports: CommandPorts,
  call: ToolCall,
  approval: Approval,
  { current, shownWhole }: { readonly current: string; readonly shownWhole: string | undefined },
): string {
  const recorded = shownDigest(current, instructionsOf(approval));
  const lost = shownWhole === recorded ? null : lostVotes(ports, call, approval);
  return lost === null ? recorded : shownDigest(current, instructionsOf(lost.now));
}
