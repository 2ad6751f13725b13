import type { RuleResult } from './decider.js';
import { refused } from './decider.js';
import { areEqualJson } from './json-equality.js';
import type { ToolCallProposal } from './tool-call.commands.js';
import type { ToolCall } from './tool-call.state.js';

/**
 * How a duplicate request compares with the recorded call. `equal` (or less strict) adds nothing; `stricter` requires
 * approval of an allowed, unclaimed call.
 */
export type Repeat = 'equal' | 'stricter' | RuleResult<never>;

/**
 * Compares a request with the call recorded under its id.
 * @returns the refusal `tool-call-mismatch` for another principal, other arguments, other facts about the execution, or
 *   a stricter request after the claim.
 */
export function compareRepeat(proposal: ToolCallProposal, call: ToolCall): Repeat {
  const { request, permission, execution } = call;
  // Attack: an agent registers the call of another first, laxer, and the owner's own request finds it allowed.
  if (request.requestedBy !== proposal.requestedBy) return mismatch('by another principal');
  // The digest of the request, not of an edit: the agent repeats what it asked.
  if (request.actionDigest !== proposal.actionDigest) return mismatch('with other arguments');
  if (request.idempotent !== proposal.idempotent) return mismatch('with another `idempotent`');
  if (request.clientExecuted !== proposal.clientExecuted) return mismatch('with another `clientExecuted`');
  if (!isSameBatch(proposal, request)) return mismatch('in another batch');
  const isStricter = proposal.needsApproval && !request.needsApproval && permission.status === 'allowed';
  if (!isStricter) return 'equal';
  return execution.status === 'none' ? 'stricter' : mismatch('without `needsApproval`, and it was claimed');
}

function mismatch(how: string): RuleResult<never> {
  return refused('tool-call-mismatch', `The same tool call is already recorded ${how}.`);
}

type Batch = Pick<ToolCallProposal, 'batchId' | 'batchMode' | 'batchCallIds'>;

/** The members count in an all-or-nothing batch alone: independent calls may be requested again in another company. */
function isSameBatch(one: Batch, other: Batch): boolean {
  if (one.batchId !== other.batchId || one.batchMode !== other.batchMode) return false;
  if (one.batchMode === 'independent') return true;
  return hasSameMembers(one.batchCallIds, other.batchCallIds);
}

/** Returns whether two lists contain the same calls, in any order. */
export function hasSameMembers(one: readonly string[], other: readonly string[]): boolean {
  return areEqualJson(one.toSorted(), other.toSorted());
}
