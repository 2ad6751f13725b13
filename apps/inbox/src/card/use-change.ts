import { useState } from 'react';
import type { ApprovalView, JsonObject } from '@countersign/contracts';

/** A change of what a person agrees to since they looked. */
export interface Change {
  /** The arguments that the person has seen. */
  readonly before: JsonObject;
  readonly after: JsonObject;
  /** `answer`: it would not run, the agent would get an answer. */
  readonly kind: ApprovalView['proposal']['kind'];
  /** Who proposed it; undefined: not known. */
  readonly by: string | undefined;
  /** The proposal is the same: the instructions to the agent are others. */
  readonly isToldAlone: boolean;
  readonly instructions: ApprovalView['instructions'];
}

type Looked = Pick<ApprovalView, 'proposal' | 'arguments' | 'shownDigest'>;

/**
 * Compares an approval with what the person has seen of it. A new digest is a change until the person acknowledges it,
 * so that a button never means something else than what it meant when the person looked.
 */
export function useChange(approval: ApprovalView): {
  readonly change: Change | undefined;
  readonly acknowledge: (seen: Looked) => void;
} {
  const [looked, acknowledge] = useState<Looked>(approval);
  if (approval.state !== 'pending' || looked.shownDigest === approval.shownDigest) {
    return { change: undefined, acknowledge };
  }
  const { kind, replaces, proposedBy } = approval.proposal;
  const by = replaces === null ? undefined : proposedBy;
  const isToldAlone = looked.proposal.digest === approval.proposal.digest;
  const { instructions } = approval;
  return {
    change: { before: looked.arguments, after: approval.arguments, kind, by, isToldAlone, instructions },
    acknowledge,
  };
}
