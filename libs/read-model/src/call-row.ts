import type { EventData } from '@countersign/contracts';
import type { CallState, ToolCall } from '@countersign/domain';

/** The immutable part of a call, stored once. Data that no view or list shows stays in the log only. */
export type CallRequest = Omit<
  EventData<'ToolCallRequested'>,
  'toolSchema' | 'needsApproval' | 'reason' | 'description' | 'batchRuleId' | 'hints'
>;

/**
 * A tool call in the read model: the domain's state, whole and unmasked. It is immutable, so a reader may keep it.
 * Callers outside get a view of it (`toToolCallView`, `toApprovalView`, `toRunView`).
 */
export interface CallRow extends Omit<ToolCall, 'request'> {
  readonly request: CallRequest;
  /** The position of its `ToolCallRequested`. */
  readonly seq: number;
  /** The positions of its `ApprovalRequested`, in the order of `approvals`: the order of every list. */
  readonly approvalSeqs: readonly number[];
  /**
   * The place of a sequential call in the queue of its run: the position of the event with which it began to wait; null: it has
   * never waited.
   */
  readonly place: number | null;
  /** The position of the denial with which its rule ended the run; null: none has. */
  readonly endedRunAt: number | null;
  readonly revision: number;
  /** Follows from `permission` and `execution`. */
  readonly state: CallState;
  /** When the next deadline of this call is due, epoch milliseconds. */
  readonly dueAt: number | null;
  /** The key that the row is encrypted with in the file: that of its latest sealed event; null for plain rows. */
  readonly sealKey: string | null;
  /** JSON pointers, into the data of its events, of the values that were erased. */
  readonly erased: readonly string[];
  /** Like `erased`, of the values whose key is lost. */
  readonly missing: readonly string[];
  /** The first event of its stream that could not be read: the row shows what was before it. Null: all could be read. */
  readonly unreadable: UnreadableMark | null;
}

/** The event that set a call aside. */
export interface UnreadableMark {
  readonly eventId: string;
  readonly position: number;
  readonly revision: number;
  readonly type: string;
  readonly why: string;
  /** The position at which a person cancelled its run: calls that are queued after it do not wait for this one. Absent: none has. */
  readonly passedAt?: number;
}

/**
 * Returns whether readers may see the call: not before every event of its request has arrived. The event store delivers
 * the events of one append one by one, and between two of them the call would wait for an approval that does not exist
 * yet.
 */
export function isShown({ state, approvals, place, unreadable }: CallRow): boolean {
  return state !== 'awaiting_approval' || approvals.length > 0 || place !== null || unreadable !== null;
}
