import type { EventData } from '@countersign/contracts';
import type { CallState, ToolCall } from '@countersign/domain';

/** The part of a call that never changes, stored once. What no view and no list shows is left in the log. */
export type CallRequest = Omit<
  EventData<'ToolCallRequested'>,
  'toolSchema' | 'needsApproval' | 'reason' | 'description'
>;

/**
 * A tool call as the read model keeps it: the domain's state of it, whole and unmasked. It is never changed in place, so
 * a reader may hold it. What a person or program outside gets is a view made of it (`toToolCallView`, `toApprovalView`,
 * `toRunView`).
 */
export interface CallRow extends Omit<ToolCall, 'request'> {
  readonly request: CallRequest;
  /** The position of its `ToolCallRequested`. */
  readonly seq: number;
  /** The positions of its `ApprovalRequested`, in the order of `approvals`: the order of every list. */
  readonly approvalSeqs: readonly number[];
  readonly revision: number;
  /** Follows from `permission` and `execution`. */
  readonly state: CallState;
  /** When something is next due on this call by itself, epoch milliseconds. */
  readonly dueAt: number | null;
}

/**
 * Whether readers may see the call: not before what was decided with its request has come too. The event store hands out
 * the events of one append one by one, and between two of them the call would wait for an answer that nobody is asked for.
 */
export function isShown({ state, approvals }: CallRow): boolean {
  return state !== 'awaiting_approval' || approvals.length > 0;
}
