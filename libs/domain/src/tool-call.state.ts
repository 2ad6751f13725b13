import type {
  Assurance,
  EventData,
  JsonObject,
  JsonValue,
  RecordedDecision,
  Requirement,
  ToolCallState as ToolCallStateName,
  Verdict,
} from '@countersign/contracts';

/** The states of a call, as the API names them. */
export type CallState = ToolCallStateName;

/** The arguments that will run: the requested ones, or those of the last edit. */
export interface Action {
  readonly arguments: JsonObject;
  /** JSON pointers of the sensitive values in `arguments`. */
  readonly sensitive: readonly string[];
  readonly salt: string | null;
  readonly actionDigest: string;
}

/** The subject of the current approvals: to run an action, or to give an answer instead. */
export type Proposal =
  { readonly kind: 'run'; readonly actionDigest: string } | { readonly kind: 'answer'; readonly output: JsonValue };

/** One recorded response. Only a `counted` one takes part in the vote. */
export interface Vote {
  readonly status: 'counted' | 'void' | 'withdrawn';
  readonly decision: RecordedDecision;
  /** The proposal that an approving vote agrees to, or that a denying one refused. */
  readonly proposal: Proposal;
  /** The stage in which it counts, from 0. */
  readonly stage: number;
  readonly actionDigest: string;
  readonly reason: string | null;
  readonly instruction: string | null;
  readonly respondedBy: string;
  readonly onBehalfOf: string | null;
  readonly groups: readonly string[];
  readonly via: string;
  readonly assurance: Assurance;
  readonly automatic: boolean;
  readonly respondedAt: string;
}

/** The outcome of an approval, or pending. */
export type Resolution =
  | { readonly status: 'pending' }
  | {
      readonly status: 'approved' | 'denied';
      readonly at: string;
      readonly respondedBy: string;
      readonly via: string;
      readonly reason: string | null;
    }
  | { readonly status: 'expired'; readonly at: string }
  | {
      readonly status: 'cancelled';
      readonly at: string;
      readonly cancelledBy: string;
      readonly reason: string;
    };

/** Groups that were added to the approvers of one stage. */
export interface Escalation {
  readonly stage: number;
  readonly to: readonly string[];
  readonly at: string;
}

/** One approval of the call. */
export interface Approval {
  readonly approvalId: string;
  readonly round: number;
  /** The digest that the round started with; an edit changes `action` and `proposal`. */
  readonly actionDigest: string;
  readonly verdict: Verdict;
  /** In force now: an edit may have raised it. */
  readonly requirement: Requirement;
  readonly reason: string | null;
  readonly description: string | null;
  readonly requestedBy: string;
  readonly requestedAt: string;
  /** Null: it waits without a deadline. */
  readonly expiresAt: string | null;
  /** When the reminders are due; absent: the requirement's `remindersMs` after the request. */
  readonly remindAt?: readonly string[];
  readonly escalations: readonly Escalation[];
  readonly remindersSent: number;
  /** The action that runs after an approval: the call's action at the request, or that of the last edit. */
  readonly action: Action;
  readonly proposal: Proposal;
  readonly votes: readonly Vote[];
  readonly resolution: Resolution;
}

/** The permission of a call to run, independent of its execution. */
export type Permission =
  | { readonly status: 'allowed' }
  /** `wasAllowed`: the call could have run before people were asked about it. */
  | { readonly status: 'awaiting_approval'; readonly wasAllowed: boolean }
  /** `executeBy` null: the right to run it has no end. */
  | { readonly status: 'approved'; readonly actionDigest: string; readonly executeBy: string | null }
  | { readonly status: 'blocked'; readonly reason: string }
  | { readonly status: 'denied' }
  /** `unanswered`: there was no response in time; `lapsed`: it was approved and not claimed in time. */
  | { readonly status: 'expired'; readonly cause: 'unanswered' | 'lapsed' }
  | { readonly status: 'cancelled'; readonly reason: string; readonly cancelledBy: string };

/** The reporter of an execution's outcome. */
export type SettledBy = 'resolver' | 'client' | 'approver' | 'reconciliation';

/** The state of the execution. `attempt` is the fencing token of the latest claim, null without a claim. */
export type Execution =
  | { readonly status: 'none' }
  | {
      readonly status: 'claimed';
      readonly attempt: number;
      readonly resolverId: string;
      readonly claimedBy: string;
      readonly idempotencyKey: string;
      /** The command that claimed; absent in older logs. */
      readonly claimId?: string;
      readonly claimedAt: string;
      readonly leaseUntil: string;
    }
  /** Claimable again: an idempotent tool's lease is over (`lapsed`), or a person ordered it (`retry`). */
  | {
      readonly status: 'released';
      readonly attempt: number;
      readonly cause: 'lapsed' | 'retry';
      readonly claimedBy: string | null;
    }
  | {
      readonly status: 'succeeded';
      readonly attempt: number | null;
      readonly by: SettledBy;
      readonly claimedBy: string | null;
      readonly output: JsonValue;
    }
  | {
      readonly status: 'failed';
      readonly attempt: number | null;
      readonly by: SettledBy;
      readonly claimedBy: string | null;
      readonly error: JsonValue;
    }
  /** `claimedBy` may still report the outcome. */
  | {
      readonly status: 'unknown';
      readonly attempt: number;
      readonly reason: string;
      readonly unknownSince: string;
      readonly claimedBy: string | null;
    };

/** A recorded tool call. */
export interface ToolCall {
  readonly status: 'recorded';
  /** The request exactly as it was recorded. */
  readonly request: EventData<'ToolCallRequested'>;
  /** The action that will run; differs from the request after an edit. */
  readonly action: Action;
  /** The latest verdict of the policy about the call; null only before the first. */
  readonly verdict: Verdict | null;
  readonly permission: Permission;
  /** By round; the last one is current. */
  readonly approvals: readonly Approval[];
  readonly execution: Execution;
  /** The call has recorded that its all-or-nothing batch has begun. */
  readonly committed: boolean;
  /** The follow-up instruction of the last response that had one. */
  readonly instruction: string | null;
  /** When the call got its present end; null while it has none. */
  readonly settledAt: string | null;
}

/** The state of a stream: empty, or one tool call. */
export type ToolCallState = { readonly status: 'unrequested' } | ToolCall;

/** Nothing is recorded. */
export function initialState(): ToolCallState {
  return { status: 'unrequested' };
}

/** The state as the API names it; null when nothing is recorded. */
export function callState(state: ToolCallState): CallState | null {
  if (state.status === 'unrequested') return null;
  switch (state.execution.status) {
    case 'claimed':
      return 'executing';
    case 'none':
    case 'released':
      return state.permission.status;
    default:
      return state.execution.status;
  }
}

/** No longer waiting for approval. */
export function isDecided(state: ToolCallState): boolean {
  const name = callState(state);
  return name !== null && name !== 'awaiting_approval';
}

/** The call has its result; nothing more happens automatically. An unknown outcome counts: a person has to look. */
export function isSettled(state: ToolCallState): boolean {
  const name = callState(state);
  return isDecided(state) && name !== 'allowed' && name !== 'approved' && name !== 'executing';
}

/** The latest approval of a call, pending or not. */
export function currentApproval(state: ToolCallState): Approval | undefined {
  return state.status === 'recorded' ? state.approvals.at(-1) : undefined;
}

/** The round that a further approval of the call would be. */
export function nextRound(state: ToolCallState): number {
  return (currentApproval(state)?.round ?? 0) + 1;
}

/** The salt of the recorded request, with which a repeat MUST compute its digest; null when there is none. */
export function recordedSalt(state: ToolCallState): string | null {
  return state.status === 'recorded' ? state.request.salt : null;
}
