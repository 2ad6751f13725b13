import type { ApprovalView } from '@countersign/contracts';
import { needsSignature } from '@countersign/text';
import type { TokenAction } from '../answer-token.js';
import type { Notice } from '../channel.js';

/** A decision that a button can bring. */
export type Press = 'approve' | 'deny';

/** What an answer through a channel proves of its person, and whether it can have a reason. */
export interface PressLimits {
  /** Default: `medium`. */
  readonly assurance?: 'low' | 'medium';
  /** Default: false. */
  readonly hasReason?: boolean;
}

/**
 * The decisions that the buttons of a notice can bring. One that needs a signature, a reason, or more assurance than the channel
 * has is given in the inbox; an approval also has to be for something that is shown whole, and counts for all calls of the notice.
 */
export function pressesOf(notice: Notice, isWhole: boolean, limits: PressLimits = {}): readonly Press[] {
  const { approval, together = [] } = notice;
  if (approval === null) return [];
  const all = [approval, ...together.map((one) => one.approval)];
  const canApprove = isWhole && all.every((one) => canPress(one, 'approve', limits));
  return [
    ...(canApprove ? ['approve' as const] : []),
    ...(canPress(approval, 'deny', limits) ? ['deny' as const] : []),
  ];
}

/**
 * What a button is bound to: all that its card shows. A denial of one call is bound to the proposal alone, since it only restricts. Attack:
 * somebody tells the agent something or withdraws, so that each "no" under way is one to an earlier card.
 */
export function boundTo(action: TokenAction, approval: ApprovalView, together: Notice['together'] = []): string {
  return action === 'd' && together.length === 0 ? approval.proposal.digest : approval.shownDigest;
}

function canPress(approval: ApprovalView, press: Press, limits: PressLimits): boolean {
  return approval.allowedDecisions.includes(press) && whyElsewhere(approval, press, limits) === undefined;
}

/** Why a press cannot decide about an approval, in words for people; undefined: it can. */
export function whyElsewhere(
  { requirement }: Pick<ApprovalView, 'requirement'>,
  press: Press,
  { assurance = 'medium', hasReason = false }: PressLimits = {},
): string | undefined {
  const { minAssurance, requireReason } = requirement;
  if (needsSignature(requirement)) return 'Sign it in the inbox, with your passkey: no button here decides it';
  if (minAssurance === 'medium' && assurance === 'low')
    return 'It needs more assurance than this chat has: decide it in the inbox';
  return !hasReason && requireReason.includes(press)
    ? `To ${press} it needs a reason: give it in the inbox`
    : undefined;
}
