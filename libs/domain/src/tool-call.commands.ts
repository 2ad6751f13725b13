import type {
  Assurance,
  EventData,
  FieldError,
  JsonObject,
  JsonValue,
  Requirement,
  Verdict,
} from '@countersign/contracts';
import type { BatchFate, ByOwner, Timed } from './tool-call.command-base.js';
import type {
  ClaimExecution,
  RenewClaim,
  ReportExecution,
  LapseClaim,
  ReconcileExecution,
  SubmitClientOutput,
} from './tool-call.execution-commands.js';

/** What the policy says about a call. `ruleId`, policy version and reasons are in the verdict. */
export type Judgement =
  | { readonly outcome: 'allow'; readonly verdict: Verdict }
  | { readonly outcome: 'require'; readonly verdict: Verdict; readonly requirement: Requirement }
  | { readonly outcome: 'block'; readonly verdict: Verdict; readonly reason: string };

/** The proposal as it will be recorded. */
export type ToolCallProposal = Omit<EventData<'ToolCallRequested'>, 'requestedAt'>;

/**
 * An agent wants to run a tool. When the call is already recorded, `call.actionDigest` MUST be computed with the
 * recorded salt (`recordedSalt(state)`): only then is a repeat with the same arguments known as one.
 */
export interface RequestToolCall extends Timed {
  readonly type: 'RequestToolCall';
  readonly call: ToolCallProposal;
  readonly judgement: Judgement;
  /** The id of the first round, used when the judgement is `require`. */
  readonly approvalId: string;
  /** What the batch of a recorded call says, where one was asked. */
  readonly batch?: BatchFate;
}

/** Ask people about a recorded call: the worker's own predicate says so, or an earlier round ended without an answer. */
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
  /** What the batch of the call says, where one was asked. */
  readonly batch?: BatchFate;
}

/** Says more about a pending approval. */
export interface DescribeApproval extends ByOwner {
  readonly type: 'DescribeApproval';
  /** Null: nothing to say. */
  readonly reason: string | null;
  readonly description: string | null;
  readonly describedBy: string;
}

/** An authenticated person, as the channel proved them. */
export interface Responder {
  readonly principal: string;
  readonly groups: readonly string[];
  /** `inbox`, `api`, `cli`, or the id of a channel. */
  readonly via: string;
  readonly assurance: Assurance;
  /** The person for whom a delegate answers. */
  readonly onBehalfOf: string | null;
}

/** Replaced arguments, with all that was computed about them outside. */
export interface EditDecision {
  readonly type: 'edit';
  readonly arguments: JsonObject;
  readonly sensitive: readonly string[];
  readonly salt: string | null;
  /** The action digest of the edited arguments. */
  readonly actionDigest: string;
  /** What the tool's schema says about the edited arguments; empty when they are valid. */
  readonly invalid: readonly FieldError[];
  /**
   * The policy once more, over the edited arguments. What it requires is added to what the approval asks, so that no
   * edit slips below the bar of its own arguments; `allow` takes nothing away from what the approval asks.
   */
  readonly judgement: Judgement;
}

/** What a person says. */
export type ResponseDecision =
  | { readonly type: 'approve' }
  | EditDecision
  | { readonly type: 'deny' }
  | { readonly type: 'answer'; readonly output: JsonValue };

/** A person's answer to an approval. */
export interface RespondToApproval extends Timed {
  readonly type: 'RespondToApproval';
  readonly approvalId: string;
  readonly decision: ResponseDecision;
  /** The digest that the person saw; null when the channel did not say. */
  readonly actionDigest: string | null;
  readonly reason: string | null;
  readonly instruction: string | null;
  readonly responder: Responder;
  /** What the batch of the call says, where one was asked. */
  readonly batch?: BatchFate;
}

/** A person who may answer wants to see the hidden values of what they are asked to agree to. */
export interface RevealValues extends Timed {
  readonly type: 'RevealValues';
  readonly approvalId: string;
  /** JSON pointers of the hidden values; empty when nothing is hidden. */
  readonly pointers: readonly string[];
  readonly responder: Responder;
}

/** A person takes their answer back while the approval is pending. */
export interface WithdrawResponse extends Timed {
  readonly type: 'WithdrawResponse';
  readonly approvalId: string;
  readonly withdrawnBy: string;
}

/** The deadline of an approval has come. */
export interface ExpireApproval extends Timed {
  readonly type: 'ExpireApproval';
  readonly approvalId: string;
  /** What the batch of the call says, where one was asked. */
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
  /** What the batch of the call says, where one was asked. */
  readonly batch?: BatchFate;
}

/** The call is no longer wanted. */
export interface CancelToolCall extends ByOwner {
  readonly type: 'CancelToolCall';
  readonly reason: string;
  readonly cancelledBy: string;
  /** What the batch of the call says, where one was asked. */
  readonly batch?: BatchFate;
}

/** The batch of the call has begun, and a question about the call is pending that came too late. */
export interface CommitToBatch extends Timed {
  readonly type: 'CommitToBatch';
  readonly batch: BatchFate;
}

/** Everything that can be asked of a tool call. */
export type ToolCallCommand =
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
