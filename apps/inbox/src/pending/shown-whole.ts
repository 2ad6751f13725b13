import type { ApprovalView } from '@countersign/contracts';
import { endedProposalWords, hiddenIn, hiddenWords, nameWords, schemaNoteWords, writtenMasks } from '@countersign/text';

/** The characters of arguments that a row of a bulk response shows. */
export const glanceMax = 2000;

/**
 * Returns whether a row shows all that a person agrees to. What it would cut, an answer in place of the run, the instructions
 * of others and a text of the agent that reads like a hidden value are approved on their own card.
 */
export function isShownWhole({
  isPreview,
  arguments: args,
  hiddenValues,
  proposal,
  instructions,
}: Pick<ApprovalView, 'isPreview' | 'arguments' | 'hiddenValues' | 'proposal' | 'instructions'>): boolean {
  if (isPreview === true || proposal.kind !== 'run' || instructions.length > 0) return false;
  return JSON.stringify(args).length <= glanceMax && writtenMasks(args, hiddenValues).size === 0;
}

/** What a row says besides its values, as every card does: what is hidden and not checked, and who changed it. */
export function rowNotes(
  approval: Pick<ApprovalView, 'endedProposals' | 'hiddenValues' | 'proposal' | 'schemaNotes'>,
): readonly string[] {
  const { proposal, endedProposals, schemaNotes } = approval;
  const isEdit = proposal.kind === 'run' && proposal.number > 1;
  const ended = endedProposalWords(endedProposals);
  return [
    hiddenWords(hiddenIn(approval)),
    schemaNoteWords(schemaNotes),
    isEdit ? `Edited by ${nameWords(proposal.proposedBy)}` : '',
    ended === '' ? '' : `Not approved before: ${ended}`,
  ].filter((note) => note !== '');
}
