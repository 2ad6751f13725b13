import { isBatchMember } from './tool-call.batch.js';
import type { BatchPlace } from './tool-call.batch.js';
import { hasSameMembers } from './tool-call.request.js';
import type { Approval } from './tool-call.state.js';

/** A call, as far as the step matters to which it belongs. */
interface InStep {
  readonly request: BatchPlace & { readonly callId: string };
}

/** The ids of the other calls that run together with a call or not at all, in the order of the step. */
export function otherMembersOf(call: InStep): readonly string[] {
  return isBatchMember(call) ? call.request.batchCallIds.filter((callId) => callId !== call.request.callId) : [];
}

/**
 * Attack: a batch names the calls of another principal, to block or to cancel them. Only calls that the same principal
 * requested with the same list are members.
 */
export function isMemberWith(one: InStep, { request }: InStep): boolean {
  return (
    isBatchMember(one) &&
    one.request.tenant === request.tenant &&
    one.request.requestedBy === request.requestedBy &&
    hasSameMembers(one.request.batchCallIds, request.batchCallIds)
  );
}

/**
 * The approval as it was before the last proposals, if they were made under this very principal: its person knows what they changed.
 *
 * Attack: a front end changes a call under another spelling, or as a person whom the policy file says to be one who signs in too. Two
 * names count as one person where that restricts, and here it would release what one of them has not seen.
 */
export function beforeOwnProposals(approval: Approval, principal: string): Approval {
  const { proposals } = approval;
  const end = proposals.findLastIndex(({ proposedBy }) => proposedBy !== principal);
  return { ...approval, proposals: proposals.slice(0, Math.max(end, 0) + 1) };
}
