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

/**
 * Returns whether all that is new since the person decided is their own: it is no news to them. The answer to a vote may show
 * what another person has done after it.
 */
export function isOwnChange(before: ApprovalView, after: ApprovalView, principal: string): boolean {
  const isOwn = (name: string): boolean => name === principal;
  const told = new Set(before.instructions.map(toldBy));
  return (
    (before.proposal.digest === after.proposal.digest || isOwn(after.proposal.proposedBy)) &&
    after.instructions.every((one) => isOwn(one.respondedBy) || told.has(toldBy(one)))
  );
}

function toldBy({ respondedBy, instruction, ifDenied }: ApprovalView['instructions'][number]): string {
  return JSON.stringify([respondedBy, instruction, ifDenied === true]);
}
