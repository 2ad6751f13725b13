import { useState } from 'react';
import type { ApprovalView, JsonObject } from '@countersign/contracts';

/** What will run has changed since the person looked. */
export interface Change {
  /** The arguments that the person has seen. */
  readonly before: JsonObject;
  readonly after: JsonObject;
  /** Who changed them last; undefined: not known. */
  readonly by: string | undefined;
}

type Looked = Pick<ApprovalView, 'actionDigest' | 'arguments'>;

/**
 * Compares an approval with what the person has seen of it. A new digest is a change until the person acknowledges it,
 * so that a button never means something else than what it meant when the person looked.
 */
export function useChange(approval: ApprovalView): {
  readonly change: Change | undefined;
  readonly acknowledge: (seen: Looked) => void;
} {
  const [looked, acknowledge] = useState<Looked>(approval);
  if (approval.state !== 'pending' || looked.actionDigest === approval.actionDigest) {
    return { change: undefined, acknowledge };
  }
  const by = approval.responses.findLast(({ decision }) => decision.type === 'edit')?.respondedBy;
  return { change: { before: looked.arguments, after: approval.arguments, by }, acknowledge };
}
