import { currentApproval } from './call-row.js';
import type { ApprovalRow, CallRow } from './call-row.js';

function nextReminder({ requirement, requestedAt, remindersSent }: ApprovalRow): number {
  if (requirement.remindersMs.length <= remindersSent) return Infinity;
  const afterMs = requirement.remindersMs.toSorted((one, other) => one - other)[remindersSent];
  return afterMs === undefined ? Infinity : Date.parse(requestedAt) + afterMs;
}

function earliest(stored: string | null, other = Infinity): number | null {
  const first = Math.min(stored === null ? Infinity : Date.parse(stored), other);
  return first === Infinity ? null : first;
}

/**
 * When something is next due on a call by itself, epoch milliseconds: the expiry of its pending approval or the next
 * reminder of it, the end of the right to run an approved call that nobody claimed, the end of a lease. Null: nothing.
 */
export function dueAtOf(call: CallRow): number | null {
  if (call.execution === 'claimed') return earliest(call.claim?.leaseUntil ?? null);
  // Claimed in time, a call stays claimable after its claim is released: only one that nobody claimed lapses.
  if (call.state === 'approved') return call.execution === 'none' ? earliest(call.executeBy) : null;
  const approval = currentApproval(call);
  if (approval === undefined || approval.resolution !== null) return null;
  return earliest(approval.expiresAt, nextReminder(approval));
}
