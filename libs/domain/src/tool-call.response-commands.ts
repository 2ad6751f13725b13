import type { AnswerSignature, Assurance, FieldError, JsonObject, JsonValue } from '@countersign/contracts';
import type { BatchFate, Judgement, Timed } from './tool-call.command-base.js';

/** An authenticated person, as the channel proved them. */
export interface Responder {
  readonly principal: string;
  readonly groups: readonly string[];
  /** Those of `groups` that only files gave, which are read again at each decision. Default: none, or it does not matter. */
  readonly groupsOfFiles?: readonly string[];
  /** `inbox`, `api`, `cli`, or the id of a channel. */
  readonly via: string;
  readonly assurance: Assurance;
  /** What the person is called: recorded, and never compared. Default: it is not known. */
  readonly name?: string;
  /** Other names of the same person, such as an e-mail address. A request in such a name is their own. Default: none. */
  readonly aliases?: readonly string[];
  /** The people in whose place this person may respond now, with their groups. Default: none. */
  readonly delegators?: readonly Delegator[];
  /** The front end that vouches for the person. Default: they proved themselves. */
  readonly vouchedBy?: string;
}

/** An approver as known now, under all their names. */
export interface PossibleApprover {
  readonly names: readonly string[];
  readonly groups: readonly string[];
  /** Any number of people whom no file names, such as those of a front end. Default: one. */
  readonly isMany?: true;
}

/** A person who has delegated their responses. */
export interface Delegator {
  readonly principal: string;
  readonly groups: readonly string[];
  /** As for a responder. */
  readonly groupsOfFiles?: readonly string[];
  /** Other names of the same person, as for a responder. Default: none. */
  readonly aliases?: readonly string[];
}

/** Replaced arguments, with all that was computed about them outside. */
export interface EditDecision {
  readonly type: 'edit';
  readonly arguments: JsonObject;
  readonly sensitive: readonly string[];
  readonly salt: string | null;
  /** The action digest of the edited arguments. */
  readonly actionDigest: string;
  /** The violations of the tool's schema by the edited arguments; empty when they are valid. */
  readonly invalid: readonly FieldError[];
  /** The pointers of the hidden values that the edit leaves as their masks. Default: none. */
  readonly keeps?: readonly string[];
  /**
   * The policy's verdict on the edited arguments. Its requirement is asked in addition to that of the request, so an
   * edit never needs fewer approvals than its arguments do; `allow` removes nothing.
   */
  readonly judgement: Judgement;
}

/** A person's decision. */
export type ResponseDecision =
  | { readonly type: 'approve' }
  | EditDecision
  | { readonly type: 'deny' }
  | {
      readonly type: 'answer';
      readonly output: JsonValue;
      /** Values of the output are hidden from other people. */
      readonly hidesValues: boolean;
      /** Of the digest of an output that hides values. Default: that of the request. */
      readonly salt?: string;
    };

/** A person's response to an approval. */
export interface RespondToApproval extends Timed {
  readonly type: 'RespondToApproval';
  readonly approvalId: string;
  readonly decision: ResponseDecision;
  /** The proposal digest that the person was shown, and that of the current proposal; null: the channel did not say. */
  readonly proposalDigest: { readonly shown: string; readonly current: string } | null;
  /** The same for the proposal with its instructions; null shown, or absent: the channel did not say. */
  readonly shownDigest?: { readonly shown: string | null; readonly current: string };
  /** The revision of what the person was shown, and the current one. Absent: the channel did not say. */
  readonly shownRevision?: { readonly shown: number; readonly current: number };
  /**
   * The digest of what the other calls of the step proposed that runs together, and those that are current: what they propose now, and
   * what they proposed before the person changed them. Absent: the channel did not say.
   */
  readonly shownOthers?: { readonly shown: string; readonly current: readonly string[] };
  /** Values of the proposed answer are erased, or their key is lost. Default: false. */
  readonly isAnswerUnreadable?: boolean;
  /** The action digest that the person saw; null when the channel did not say. */
  readonly actionDigest: string | null;
  readonly reason: string | null;
  readonly instruction: string | null;
  readonly responder: Responder;
  /** The person's signature of exactly this response. The caller has verified it. Default: none. */
  readonly signature?: AnswerSignature;
  /** What is known now about the people of the votes that count so far. Default: each of them still counts. */
  readonly voters?: readonly VoterNow[];
  /** The passkeys that signed votes which count so far, and do not count any more. Default: none. */
  readonly removedPasskeys?: readonly string[];
  /** The approvers of the tenant, for an edit. Default: they are not known, or the call names no person and no parent. */
  readonly approvers?: readonly PossibleApprover[];
  /** The state of the call's batch, if it has one. */
  readonly batch?: BatchFate;
}

/** A person who has voted, as known now. */
export interface VoterNow {
  readonly respondedBy: string;
  readonly onBehalfOf: string | null;
  /**
   * The groups of the vote's voice; null: the person may not respond any more, or not in the other's place, or the credential
   * that gave the vote is gone.
   */
  readonly groups: readonly string[] | null;
  /** All names of the people of the vote. */
  readonly names: readonly string[];
  /** A front end gave the vote in the person's name. Default: they gave it themselves. */
  readonly isVouched?: boolean;
}

/** A person who may respond wants to see the hidden values of the approval. */
export interface RevealValues extends Timed {
  readonly type: 'RevealValues';
  readonly approvalId: string;
  /** JSON pointers of the hidden values of the arguments; empty when nothing is hidden. */
  readonly pointers: readonly string[];
  /** The same for the output of a proposed answer. */
  readonly outputPointers: readonly string[];
  readonly responder: Responder;
}

/** A person withdraws their response while the approval is pending. */
export interface WithdrawResponse extends Timed {
  readonly type: 'WithdrawResponse';
  readonly approvalId: string;
  readonly withdrawnBy: string;
  /** The number of the response; earlier ones of the same person go with it. Default: the ones that count now. */
  readonly response?: number;
  /** Nothing says that this is no repeat of an earlier withdrawal. Default: false. */
  readonly mayBeRepeat?: boolean;
  /** Other names of the same person, as for a responder. Default: none. */
  readonly aliases?: readonly string[];
  /** The person whose votes end, where `withdrawnBy` ends them for another. Default: `withdrawnBy`. */
  readonly of?: string;
}
