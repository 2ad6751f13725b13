import type { ToolCallEvent } from '@countersign/contracts';
import { accepted, refused } from './decider.js';
import type { RuleResult } from './decider.js';
import { toStored } from './time.js';
import type { BatchFate } from './tool-call.command-base.js';
import type { CommitToBatch } from './tool-call.commands.js';
import { currentApproval } from './tool-call.state.js';
import type { Approval, ToolCall, ToolCallState } from './tool-call.state.js';

/** Returns whether the call belongs to an all-or-nothing batch of several calls. */
export function isBatchMember({ request }: ToolCall): boolean {
  return request.batchMode === 'all-or-nothing' && request.batchCallIds.length > 1;
}

/** Returns whether the call's batch has begun, according to the call and the command. */
export function hasBegun(call: ToolCall, fate: BatchFate | undefined): boolean {
  return call.committed || (isBatchMember(call) && fate === 'begun');
}

/**
 * Refuses to end a call without a run when its batch may have begun: a call that is or was permitted counts for the
 * begin. It ends only once the batch is known to be broken. A call that has always waited for people cannot have
 * counted, so its end needs no look at the batch.
 */
export function heldByBatch(call: ToolCall, fate: BatchFate | undefined): RuleResult<never> | undefined {
  if (!isBatchMember(call) || (fate === 'broken' && !call.committed)) return undefined;
  const { permission } = call;
  const everPermitted = permission.status === 'allowed' || permission.status === 'approved' || isLateQuestion(call);
  if (!everPermitted) return undefined;
  return refused(
    'batch-begun',
    'Another call of the same all-or-nothing batch has begun, so every call of it may run.',
  );
}

/**
 * Records in the call that its batch has begun: an approval that came too late is closed, and the right to run does not
 * lapse.
 */
export function committed(call: ToolCall, at: number): ToolCallEvent {
  const approvalId = isLateQuestion(call) ? (currentApproval(call)?.approvalId ?? null) : null;
  return { type: 'ToolCallCommitted', data: { approvalId, committedAt: toStored(at) } };
}

/** Recorded only when it changes something; usually only the batch's own stream records the begin. */
export function commitToBatch({ at, batch }: CommitToBatch, state: ToolCallState): RuleResult<ToolCallEvent> {
  if (state.status === 'unrequested' || state.committed || !hasBegun(state, batch)) return accepted();
  return isLateQuestion(state) ? accepted(committed(state, at)) : accepted();
}

/**
 * Returns whether an approval is pending for a call that had been allowed: its batch may have begun before the request.
 */
export function isLateQuestion({ permission }: ToolCall): boolean {
  return permission.status === 'awaiting_approval' && permission.wasAllowed;
}

/** How a call ended without a run. */
export interface Ending {
  readonly state: 'blocked' | 'denied' | 'expired' | 'cancelled';
  readonly reason: string;
  /** The principal who ended it; `countersign` where the policy or a deadline did. */
  readonly by: string;
}

/** How the call ended without a run; undefined when it has not. */
export function endingOf(call: ToolCall): Ending | undefined {
  const { permission, execution } = call;
  if (execution.status !== 'none') return undefined;
  switch (permission.status) {
    case 'blocked':
      return { state: 'blocked', reason: permission.reason, by: 'countersign' };
    case 'cancelled':
      return { state: 'cancelled', reason: permission.reason, by: permission.cancelledBy };
    case 'expired': {
      const reason = permission.cause === 'lapsed' ? 'it was not executed in time' : 'no person answered in time';
      return { state: 'expired', reason, by: 'countersign' };
    }
    case 'denied':
      return denialOf(currentApproval(call));
    default:
      return undefined;
  }
}

function denialOf(approval: Approval | undefined): Ending {
  const resolution = approval?.resolution;
  return resolution?.status === 'denied'
    ? { state: 'denied', reason: resolution.reason ?? 'it was denied', by: resolution.respondedBy }
    : { state: 'denied', reason: 'it was denied', by: 'countersign' };
}
