import type {
  AnswerSignature,
  Assurance,
  EventData,
  JsonObject,
  JsonValue,
  PlaceInRun,
  RecordedDecision,
  Requirement,
  ToolCallState as ToolCallStateName,
  Verdict,
} from '@countersign/contracts';

/** The states of a call, as the API names them. */
export type CallState = ToolCallStateName;

/** Arguments of a call, with what belongs to them. */
export interface Action {
  readonly arguments: JsonObject;
  /** JSON pointers of the sensitive values in `arguments`. */
  readonly sensitive: readonly string[];
  readonly salt: string | null;
  readonly actionDigest: string;
}

/** When a requirement of a proposal ends by itself, and when its reminders are due. */
export interface RequirementClock {
  /** Null: it waits without a deadline. */
  readonly expiresAt: string | null;
  /** Absent: the requirement's `remindersMs` after `since`. */
  readonly remindAt?: readonly string[];
  readonly since: string;
}

/**
 * What people are asked to agree to: to run an action, or to give an answer instead. It never changes; an edit or an
 * answer adds the next one. Votes, instructions, reminders and escalations belong to one proposal and end with it.
 */
export interface Proposal {
  /** From 1, which is the agent's request. */
  readonly number: number;
  readonly kind: 'run' | 'answer';
  /** The action to run; for an answer, the requested action in whose place it is given. */
  readonly action: Action;
  /** The answer; null for a run. */
  readonly output: JsonValue;
  /** The salt of the answer's digest; null: it cannot be read. Absent: that of the request. */
  readonly outputSalt?: string | null;
  /**
   * That of the rule that judged the request, then that of the rule that judges the edited arguments, if it differs.
   * All of them must be satisfied.
   */
  readonly requirements: readonly Requirement[];
  /** By requirement. */
  readonly clocks: readonly RequirementClock[];
  readonly proposedBy: string;
  readonly proposedAt: string;
  /** The number of the proposal before it. */
  readonly replaces: number | null;
}

/** One recorded response. Only a `counted` one takes part in the vote. */
export interface Vote {
  readonly status: 'counted' | 'void' | 'withdrawn';
  readonly decision: RecordedDecision;
  /** The number of the proposal that it agrees to or refuses. */
  readonly proposal: number;
  /** The column of stages in which it counts, from 0; for a denial that was carried over, one of the current proposal. */
  readonly stage: number;
  readonly actionDigest: string;
  /** The proposal digest that the person was shown; null: the channel did not say. */
  readonly shown: string | null;
  readonly reason: string | null;
  readonly instruction: string | null;
  readonly respondedBy: string;
  /** What the person is called; absent: it is not known. */
  readonly respondedByName?: string;
  readonly onBehalfOf: string | null;
  readonly groups: readonly string[];
  /** Those of `groups` that only files gave, to a person of a provider or a front end; absent: none. */
  readonly groupsOfFiles?: readonly string[];
  readonly via: string;
  readonly assurance: Assurance;
  /** The id of the credential that gave it; absent: the channel has none, or the version did not record it. */
  readonly credential?: string;
  readonly automatic: boolean;
  readonly respondedAt: string;
  /** Null: it is not signed. */
  readonly signature: AnswerSignature | null;
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

/** Groups that were added to the approvers of one stage of one requirement, for one proposal. */
export interface Escalation {
  /** The number of the proposal that waited. */
  readonly proposal: number;
  /** The place of the requirement in the proposal, from 0. */
  readonly requirement: number;
  /** The stage of that requirement, from 0. */
  readonly stage: number;
  readonly to: readonly string[];
  readonly at: string;
  /** The deadline of the requirement from then on; null: it waits without one. */
  readonly expiresAt: string | null;
}

/** One approval of the call. */
export interface Approval {
  readonly approvalId: string;
  readonly round: number;
  readonly verdict: Verdict;
  readonly reason: string | null;
  readonly description: string | null;
  readonly requestedBy: string;
  readonly requestedAt: string;
  /** By number; the last one is current. */
  readonly proposals: readonly Proposal[];
  /** Of all proposals. Only those of the current one count. */
  readonly escalations: readonly Escalation[];
  /** Of all proposals. */
  readonly remindersSent: number;
  /** How many of them were sent before the current proposal. */
  readonly remindersBefore: number;
  /** How often hidden values were revealed. */
  readonly reveals: number;
  readonly votes: readonly Vote[];
  readonly resolution: Resolution;
}

/** What comes at the turn of a sequential call: the question to people; null: it is allowed then. */
export type Queued = Pick<EventData<'ToolCallQueued'>, 'question'>;

/** The permission of a call to run, independent of its execution. */
export type Permission =
  | { readonly status: 'allowed' }
  /**
   * `wasAllowed`: the call could have run before people were asked about it. `queued`: it waits for its turn, and nobody is
   * asked yet.
   */
  | { readonly status: 'awaiting_approval'; readonly wasAllowed: boolean; readonly queued?: Queued }
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
      /** The place of the call in its run at the claim; absent when it was not known. */
      readonly seq?: PlaceInRun;
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
  /** The action that runs: the request, or the edit that was approved. An edit that was not approved changes nothing. */
  readonly action: Action;
  /** The latest verdict of the policy about the call; null only before the first. */
  readonly verdict: Verdict | null;
  readonly permission: Permission;
  /** By round; the last one is current. */
  readonly approvals: readonly Approval[];
  readonly execution: Execution;
  /** The call has recorded that its all-or-nothing batch has begun. */
  readonly committed: boolean;
  /** The instructions of the votes that counted when the last approval ended. */
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
