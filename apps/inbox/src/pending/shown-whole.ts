import type { ApprovalView } from '@countersign/contracts';
import { writtenMasks } from '@countersign/text';

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
