import type {
  EventData,
  JsonObject,
  JsonValue,
  RecordedDecision,
  Requirement,
  ToolCallState,
  Verdict,
} from '@countersign/contracts';

/** What would run, and what is needed to mask it for a reader. */
export interface Action {
  readonly arguments: JsonObject;
  /** JSON pointers of the sensitive values in `arguments`. */
  readonly sensitive: readonly string[];
  readonly salt: string | null;
  readonly actionDigest: string;
}

/** The edit that an action comes from, by the places of its approval and response in the row; null: as requested. */
export type ActionRef = { readonly approval: number; readonly response: number } | null;

type RequestData = EventData<'ToolCallRequested'>;

/** The part of a call that never changes, stored once. What no view and no list shows is left in the log. */
export type CallRequest = Omit<RequestData, 'toolSchema' | 'needsApproval' | 'reason' | 'description'>;

/** One response as recorded, and how it takes part in the vote. */
export interface ResponseRow {
  readonly status: 'counted' | 'void' | 'withdrawn';
  /** The stage in which it counts, from 0. */
  readonly stage: number;
  /** The answer that it agrees to, by its place in `responses`; null: to run the action of `actionDigest`. */
  readonly answer: number | null;
  readonly decision: RecordedDecision;
  readonly actionDigest: string;
  readonly respondedBy: string;
  readonly onBehalfOf: string | null;
  readonly groups: readonly string[];
  readonly reason: string | null;
  readonly via: string;
  readonly respondedAt: string;
}

/** How an approval ended. */
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
  /** What the people are asked to agree to; an edit moves it. */
  readonly action: ActionRef;
  /** The answer that is proposed in place of the run, by its place in `responses`. */
  readonly answer: number | null;
  /** In force now: an edit may have raised it. */
  readonly requirement: Requirement;
  readonly reason: string | null;
  readonly description: string | null;
  readonly requestedBy: string;
  readonly requestedAt: string;
  /** Null: it waits without a deadline, or is held open after it. */
  readonly expiresAt: string | null;
  readonly escalations: readonly { readonly stage: number; readonly to: readonly string[] }[];
  readonly remindersSent: number;
  readonly responses: readonly ResponseRow[];
  /** Null while it is pending. */
  readonly resolution: ResolutionRow | null;
}

/** The latest claim. */
export interface ClaimRow {
  /** The fencing token. */
  readonly attempt: number;
  readonly resolverId: string;
  readonly claimedBy: string;
  readonly claimedAt: string;
  readonly leaseUntil: string;
}

/** The part of a call that its later events change. */
export interface CallProgress {
  readonly revision: number;
  /** Follows from `permission` and `execution`. */
  readonly state: ToolCallState;
  /** Whether the call may run, apart from whether it has. */
  readonly permission: 'allowed' | 'awaiting_approval' | 'approved' | 'blocked' | 'denied' | 'expired' | 'cancelled';
  /** `released`: claimable again. */
  readonly execution: 'none' | 'claimed' | 'released' | 'succeeded' | 'failed' | 'unknown';
  /** Null only between the request and its verdict. */
  readonly verdict: Verdict | null;
  /** What will run. */
  readonly action: ActionRef;
  /** By round; the last one is current. */
  readonly approvals: readonly ApprovalRow[];
  /** When the right to run an approved call ends. */
  readonly executeBy: string | null;
  readonly claim: ClaimRow | null;
  readonly output: JsonValue;
  readonly error: JsonValue;
  /** Why a call that did not run, or of which nobody knows, ended as it did. */
  readonly why: string | null;
  readonly instruction: string | null;
  readonly settledAt: string | null;
  /** When something is next due on this call by itself, epoch milliseconds. */
  readonly dueAt: number | null;
}

/**
 * A tool call as the read model keeps it: whole, unmasked. It is never changed in place, so a reader may hold it.
 * What a person or program outside gets is a view made of it (`toToolCallView`, `toApprovalView`, `toRunView`).
 */
export interface CallRow extends CallProgress {
  /** The position of its `ToolCallRequested`. */
  readonly seq: number;
  readonly request: CallRequest;
}

/** The approval that is current: pending, or the last one that was. */
export function currentApproval(call: CallRow): ApprovalRow | undefined {
  return call.approvals.at(-1);
}

/** The action that a reference stands for. */
export function actionAt(call: CallRow, ref: ActionRef): Action {
  const response = ref === null ? undefined : call.approvals[ref.approval]?.responses[ref.response];
  if (response?.decision.type !== 'edit') return call.request;
  const { arguments: args, sensitive, salt } = response.decision;
  return { arguments: args, sensitive, salt, actionDigest: response.actionDigest };
}

/** The output that a response proposes in place of the run; undefined when it proposes none. */
export function answerAt(approval: ApprovalRow, response: number | null): JsonValue | undefined {
  const decision = response === null ? undefined : approval.responses[response]?.decision;
  return decision?.type === 'answer' ? decision.output : undefined;
}
