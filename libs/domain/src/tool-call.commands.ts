import type { EventData, Requirement, Verdict } from '@countersign/contracts';
import type { QuestionFacts } from './quota-facts.js';
import type { Stop } from './stop.state.js';
import type { BatchFate, ByOwner, Judgement, Timed } from './tool-call.command-base.js';
import type {
  ClaimExecution,
  RenewClaim,
  ReportExecution,
  LapseClaim,
  ReconcileExecution,
  SubmitClientOutput,
} from './tool-call.execution-commands.js';
import type {
  PossibleApprover,
  RespondToApproval,
  RevealValues,
  VoterNow,
  WithdrawResponse,
} from './tool-call.response-commands.js';

/** The proposal as it will be recorded. */
export type ToolCallProposal = Omit<EventData<'ToolCallRequested'>, 'requestedAt'>;

/**
 * An agent requests a tool run. When the call is already recorded, `call.actionDigest` MUST be computed with the
 * recorded salt (`recordedSalt(state)`): only then is a duplicate with the same arguments recognised.
 */
export interface RequestToolCall extends Timed {
  readonly type: 'RequestToolCall';
  readonly call: ToolCallProposal;
  readonly judgement: Judgement;
  /** The id of the first round, used when the judgement is `require`. */
  readonly approvalId: string;
  /** The state of the recorded call's batch, if it has one. */
  readonly batch?: BatchFate;
}

/** Requests approval of a recorded call: the worker's own predicate requires it, or an earlier round expired. */
export interface RequestApproval extends ByOwner {
  readonly type: 'RequestApproval';
  /** MUST be `nextRound(state)`, and `approvalId` the id of that round. */
  readonly round: number;
  readonly approvalId: string;
  readonly verdict: Verdict;
  /** With the caller's own expiry and allowed decisions already put in. */
  readonly requirement: Requirement;
  /** Null: as in the request of the call. */
  readonly reason: string | null;
  readonly description: string | null;
  readonly requestedBy: string;
  /** The approvers of the tenant. Default: they are not known, or the call names no person and no parent. */
  readonly approvers?: readonly PossibleApprover[];
  /** The quotas of the policy in front of this question. Default: the policy has none. */
  readonly quotas?: QuestionFacts;
  /** The stops whose scope covers the call, in force or lifted. */
  readonly stopsOver: readonly Stop[];
  /** The state of the call's batch, if it has one. */
  readonly batch?: BatchFate;
  /** True: the call inside which this one would run was cancelled. */
  readonly isInsideCancelled?: boolean;
}

/** Adds a reason or description to a pending approval. */
export interface DescribeApproval extends ByOwner {
  readonly type: 'DescribeApproval';
  /** Null: nothing to say. */
  readonly reason: string | null;
  readonly description: string | null;
  readonly describedBy: string;
}

/** The deadline of an approval has passed. */
export interface ExpireApproval extends Timed {
  readonly type: 'ExpireApproval';
  readonly approvalId: string;
  /** People could not respond in all of the time since they were asked: the service did not run, or the clock was set forward. Default: they could. */
  readonly isTimeUnsure?: true;
  /** The approvers are those of another policy than the one in force, so who could object is not known. Default: they are not. */
  readonly isOtherPolicy?: true;
  /** What is known now about the people of the votes that count so far. Default: each of them still counts. */
  readonly voters?: readonly VoterNow[];
  /** The passkeys that signed votes which count so far, and do not count any more. Default: none. */
  readonly removedPasskeys?: readonly string[];
  /** The approvers of the tenant, where silence would approve. Default: they are not known. */
  readonly approvers?: readonly PossibleApprover[];
  /** The state of the call's batch, if it has one. */
  readonly batch?: BatchFate;
}

/** A reminder is due. */
export interface RemindApprovers extends Timed {
  readonly type: 'RemindApprovers';
  readonly approvalId: string;
}

/** The right to run an approved call is over. */
export interface LapseApproval extends Timed {
  readonly type: 'LapseApproval';
  readonly approvalId: string;
  /** The log was restored from a backup, so that the right ends before its time. */
  readonly isRestored?: true;
  /** The state of the call's batch, if it has one. */
  readonly batch?: BatchFate;
}

/** The call is no longer wanted. */
export interface CancelToolCall extends ByOwner {
  readonly type: 'CancelToolCall';
  readonly reason: string;
  readonly cancelledBy: string;
  /** The state of the call's batch, if it has one. */
  readonly batch?: BatchFate;
}

/** The call's batch has begun, and an approval is pending that was requested too late. */
export interface CommitToBatch extends Timed {
  readonly type: 'CommitToBatch';
  readonly batch: BatchFate;
}

/** The turn of a sequential call has come: every call before it in its queue is settled. */
export interface TakeTurn extends Timed {
  readonly type: 'TakeTurn';
  /** The round of a question about the call at the place that was seen. A call that waits again has another one. */
  readonly round: number;
  /** The id of that round. */
  readonly approvalId: string;
  /** The call whose denial ended the run after this one began to wait. Default: none. */
  readonly endedBy?: string;
  /**
   * By the policy in force. Its requirement MUST be satisfied only where that which was recorded with the place is. Null: the turn of
   * the call is its end.
   */
  readonly judgement: Judgement | null;
  /** The approvers of the tenant. Default: they are not known, or the call names no person and no parent. */
  readonly approvers?: readonly PossibleApprover[];
}

/** Everything that can be asked of a tool call. */
export type ToolCallCommand =
  | TakeTurn
  | RequestToolCall
  | RequestApproval
  | DescribeApproval
  | RespondToApproval
  | WithdrawResponse
  | RevealValues
  | ExpireApproval
  | RemindApprovers
  | LapseApproval
  | CancelToolCall
  | CommitToBatch
  | ClaimExecution
  | RenewClaim
  | ReportExecution
  | LapseClaim
  | ReconcileExecution
  | SubmitClientOutput;
