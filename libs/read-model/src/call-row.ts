import type { EventData, JsonObject, JsonValue, RecordedDecision, Requirement, ToolCallState, Verdict } from '@countersign/contracts';

/** What would run, and what is needed to mask it for a reader. */
export interface Action {
  readonly arguments: JsonObject;
  /** JSON pointers of the sensitive values in `arguments`. */
  readonly sensitive: readonly string[];
  readonly salt: string | null;
  readonly actionDigest: string;
}

/** The part of a call's request that never changes, stored once. The tool's schema is left in the log: no view shows it. */
export interface CallRequest extends Omit<
  EventData<'ToolCallRequested'>,
  'toolSchema' | 'needsApproval' | 'reason' | 'description' | 'batchCallIds'
> {
  readonly tenant: string;
  readonly runId: string;
  readonly callId: string;
}

/** One response as recorded, without what no view or rule of the fold needs. */
export interface ResponseRow {
  /** Only a `counted` one takes part in the vote; a withdrawn one is not kept. */
  readonly status: 'counted' | 'void';
  readonly decision: RecordedDecision;
  readonly actionDigest: string;
  /** The stage in which it counts, from 0. */
  readonly stage: number;
  readonly respondedBy: string;
  readonly onBehalfOf: string | null;
  readonly groups: readonly string[];
  readonly reason: string | null;
  readonly via: string;
  readonly respondedAt: string;
}

/** How an approval ended; null while it is pending. */
export interface ResolutionRow {
  readonly state: 'approved' | 'denied' | 'expired' | 'cancelled';
  readonly at: string;
}

/** One question put to people about a call. */
export interface ApprovalRow {
  /** The position of its `ApprovalRequested`: the order of every list. */
  readonly seq: number;
  readonly approvalId: string;
  readonly round: number;
  /** What the people are asked to agree to; after an edit, the edited arguments. Null: as requested. */
  readonly action: Action | null;
  readonly requirement: Requirement;
  readonly reason: string | null;
  readonly description: string | null;
  readonly requestedBy: string;
  readonly requestedAt: string;
  /** Null: it waits without a deadline, or is held open after it. */
  readonly expiresAt: string | null;
  /** Groups that escalations added, with the stage that they joined. */
  readonly escalations: readonly { readonly stage: number; readonly to: readonly string[] }[];
  readonly remindersSent: number;
  readonly responses: readonly ResponseRow[];
  readonly resolution: ResolutionRow | null;
}

/** The claim that is in force, or the last one. */
export interface ClaimRow {
  readonly attempt: number;
  readonly resolverId: string;
  readonly claimedBy: string;
  readonly claimedAt: string;
  readonly leaseUntil: string;
}

/** The part of a call that its later events change. */
export interface CallProgress {
  readonly revision: number;
  readonly state: ToolCallState;
  /** What `state` returns to when a claim is released: `allowed` or `approved`. */
  readonly permission: ToolCallState;
  /** Null only between the request and its verdict. */
  readonly verdict: Verdict | null;
  /** What will run; null while it is what was requested. */
  readonly edited: Action | null;
  /** By round; the last one is current. */
  readonly approvals: readonly ApprovalRow[];
  readonly executeBy: string | null;
  readonly claim: ClaimRow | null;
  readonly output: JsonValue;
  readonly error: JsonValue;
  readonly instruction: string | null;
  readonly settledAt: string | null;
  /** When the next deadline of this call is due, epoch milliseconds; null when it has none. */
  readonly dueAt: number | null;
}

/**
 * A tool call as the read model keeps it: whole, unmasked. It is never changed in place, so a reader may hold it.
 * What a reader gets is a view made of it (`toToolCallView`, `toApprovalView`, `toRunView`).
 */
export interface CallRow extends CallProgress {
  /** The position of its `ToolCallRequested`. */
  readonly seq: number;
  readonly request: CallRequest;
}
