import type { FieldError, Requirement, Verdict } from '@countersign/contracts';
import type { Grant } from './grant.state.js';
import type { Question, QuotaFacts } from './quota-facts.js';
import type { ToolCallProposal } from './tool-call.commands.js';
import type { Stop } from './stop.state.js';
import type { PossibleApprover } from './tool-call.response-commands.js';
import type { ToolCall, ToolCallState } from './tool-call.state.js';

/** All that is known about the calls of one request when it is decided. Its calls are in the order of the request. */
export interface StepFacts {
  /** The moment at which the request is decided, epoch milliseconds. */
  readonly at: number;
  readonly calls: readonly StepCall[];
  /** The quotas of the policy, with every call of the request as a question; null where there are none. */
  readonly quotas: (QuotaFacts & { readonly questions: readonly Question[] }) | null;
  /** The recorded calls that the principal put into an all-or-nothing batch of this id in the run; null: not known. */
  readonly inBatch: readonly string[] | null;
  /** The approvers of the tenant; null: they are not known, or no call names a person or a parent. */
  readonly approvers: readonly PossibleApprover[] | null;
  /** For each call the stops whose scope covers it, in force or lifted, read just now. */
  readonly stopsOver: readonly (readonly Stop[])[];
  readonly limits: StepLimits;
}

export interface StepLimits {
  /** The calls of an all-or-nothing batch. */
  readonly batchMembersMax: number;
  /** The calls around a call. */
  readonly nestingMax: number;
}

/** One call of a request. */
export interface StepCall {
  /**
   * The call as it would be recorded. For a recorded call it has the recorded salt, and the facts about the tool that
   * were recorded: so that both can be compared.
   */
  readonly proposal: ToolCallProposal;
  /** The call as its stream has it. */
  readonly state: ToolCallState;
  /** The call inside which it runs; null: it runs inside none. */
  readonly parent: StepParent | null;
  readonly judged: JudgedCall;
  /** What several rules require of this call, as one requirement, narrowed by what the request wishes. */
  readonly together: (requirements: readonly [Requirement, ...Requirement[]]) => Requirement;
  /** The id of the approval, if people are asked. */
  readonly approvalId: string;
  /** The live grants that may cover the call, the oldest first. */
  readonly grants: readonly GrantFacts[];
}

/** The call that a request names as a parent; `call` is undefined where the tenant has no such call. */
export interface StepParent {
  readonly callId: string;
  readonly call: ToolCall | undefined;
  /** True: it was cancelled, or a call around it that the same principal requested. */
  readonly isCancelled: boolean;
}

/** The policy's verdict on a call. */
export interface JudgedCall {
  readonly verdict: Verdict;
  readonly requirement: Requirement;
  /** A rule whose expression has no answer and that would block the call: a person decides, never a standing grant. */
  readonly mightBeBlockedBy?: string;
  /** No rule that counts sets the time that people have, so a request may set a longer one. Default: one does. */
  readonly isExpiryOpen?: true;
}

/** The arguments of a call in front of what a grant permits. */
export interface MatchFacts {
  /** The digest of tool and arguments, in the form in which the grant names one; null: it names none. */
  readonly digest: string | null;
  /** Whether the expression of the grant is true of the arguments that people see; null: it has none, or was not asked. */
  readonly holds: boolean | null;
  /** The arguments have hidden values. */
  readonly hidesValues: boolean;
}

/** A call that a person is about to be asked about. */
export interface AskedCall {
  readonly proposal: ToolCallProposal;
  readonly requirement: Requirement;
}

/** Whether the people behind a grant could approve the call now, by the rules of a response (`couldApprove`). */
export interface ApproversOfGrant {
  /** False as well where the creator may grant nothing any more. */
  readonly creatorCould: boolean;
  /** Of the second person; false where the grant has none. */
  readonly confirmerCould: boolean;
}

/** A live grant of the tool. */
export interface GrantFacts extends MatchFacts, ApproversOfGrant {
  readonly grant: Pick<Grant, 'status' | 'terms' | 'confirmed' | 'uses' | 'callIds'>;
}

/** What the check of a call's arguments against the schema of its tool found. */
export type ArgumentCheck =
  | { readonly status: 'valid' }
  | { readonly status: 'invalid'; readonly errors: readonly FieldError[] }
  /** The schema cannot be used, or it cannot be used for these arguments. */
  | { readonly status: 'refused'; readonly about: 'toolSchema' | 'arguments'; readonly message: string };

/** What is known about a call of a request before the log is read. */
export interface CheckedCall {
  readonly toolName: string;
  /** The service itself executes the tool. */
  readonly isServiceTool: boolean;
  /** The agent says that its client executes the call. */
  readonly clientExecuted: boolean;
  readonly check: ArgumentCheck;
}
