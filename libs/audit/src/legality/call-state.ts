import type { EventData, Requirement, Verdict } from '@countersign/contracts';
import type { DigestFacts } from './digests.js';

/** What the judge remembers of a request. */
export interface RequestFacts extends DigestFacts {
  readonly callId: string;
  readonly actionDigest: string;
  /** Null where it is sealed. */
  readonly salt: string | null;
  /** Whose request it is, as names are compared. */
  readonly requesters: readonly string[];
  /** The principal that asked, as it is recorded. */
  readonly requestedBy: string;
  /** When it was requested, by its word and by its record. */
  readonly requestedAt: string;
  readonly recordedAt: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The digest of tool and arguments, which a grant names; null where values are sealed. */
  readonly argumentsDigest: string | null;
  /** `sequential`: it takes its turn in its run. */
  readonly batchMode: EventData<'ToolCallRequested'>['batchMode'];
  /** The calls of its step, with itself; empty for a single call, and for a step of many. */
  readonly batchCallIds: readonly string[];
  /** The call inside which it runs; null: none. */
  readonly parent: string | null;
  /** The digest of the calls around it, as its request names them. */
  readonly chainDigest: string;
  /** The server checked the whole schema of its tool, which is in the log. */
  readonly isSchemaWhole: boolean;
  /** The worker wants people asked. */
  readonly needsApproval: boolean;
  readonly clientExecuted: boolean;
  readonly idempotent: boolean;
  /** The digests of what a card shows of the call and of its arguments; null where values are sealed. */
  readonly shown: { readonly call: string | null; readonly asked: string | null };
  /** The stream of its all-or-nothing batch; null: it runs by itself. */
  readonly batchStream: string | null;
}

/** What the first verdict about a call says of its step. */
export interface FirstVerdict {
  readonly outcome: Verdict['outcome'];
  /** How its rule binds the calls of its step; null: it leaves them as they are, or a grant covers it and that cannot be said. */
  readonly binds: NonNullable<Requirement['batch']> | null;
  /** People are asked because its worker wants it alone. */
  readonly isByWorker: boolean;
}

/** A vote that counts. */
export interface CountedVote {
  readonly by: string;
  readonly onBehalfOf: string | null;
  readonly groups: readonly string[];
  readonly agrees: boolean;
  readonly proposal: number;
  /** The digest of what its person tells the agent; null: nothing. */
  readonly instruction: string | null;
  /** The stage of the first requirement that was asked, from 0. */
  readonly stage: number;
  readonly at: string;
  /** The passkey with which it was signed; null: it was not signed. */
  readonly passkey: string | null;
  /** What the log of record gave its person when they voted: the groups of it, and the delegation. Absent: not compared. */
  readonly given?: { readonly groups: readonly string[]; readonly isDelegate: boolean };
}

/** Groups that an escalation let into one stage of one requirement of the current proposal. */
export interface OpenedSeats {
  readonly requirement: number;
  readonly stage: number;
  readonly to: readonly string[];
}

/** What people are asked to agree to. */
export interface ProposalState {
  readonly kind: 'run' | 'answer';
  readonly actionDigest: string;
  /** The digest of an answer without its salt; null for a run, and where values of the answer are sealed. */
  readonly output: string | null;
  /** The salt of the answer's digest; null: that of the request. */
  readonly outputSalt: string | null;
  /** The digest of what a card shows of it; null where values are sealed. */
  readonly asked: string | null;
  readonly requirements: readonly Requirement[];
  /** By requirement; null: it waits without a deadline. An escalation moves it. */
  readonly expiresAt: readonly (string | null)[];
  readonly proposedBy: string;
  /** In whose place it was proposed. Absent: in nobody's. */
  readonly proposedFor?: string;
  /** It is the agent's request once more. Absent: a person proposed it, or it is the first. */
  readonly isRequest?: true;
  readonly proposedAt: string;
}

/** The latest approval of a call. */
export interface ApprovalState {
  readonly approvalId: string;
  readonly round: number;
  readonly requestedBy: string;
  /** When the question was recorded. */
  readonly askedAt: string;
  /** The rule that asks. */
  readonly judgedBy: Pick<Verdict, 'ruleId' | 'policyVersion'>;
  /** Digests of the words that people read; null: there are none. */
  readonly words: { readonly reason: string | null; readonly description: string | null };
  readonly isPending: boolean;
  /** The digest of the action that this round began with. */
  readonly firstDigest: string;
  /** The number of the current proposal. */
  readonly number: number;
  readonly proposal: ProposalState;
  /** The last proposal to run something; only events of version 1 go back to it. */
  readonly lastRun: ProposalState;
  /** The opened seats of the current proposal, by escalation. */
  readonly opened: readonly OpenedSeats[];
  readonly escalations: number;
  readonly reminders: number;
  readonly votes: readonly CountedVote[];
  /** Who objected, edited or answered first, and how, whether that still counts or not; null: nobody did. */
  readonly touched: { readonly by: string; readonly as: 'edit' | 'answer' | 'deny'; readonly isSame: boolean } | null;
}

/** What was recorded with the place of a call in the queue of its run, and happens at its turn. */
export interface QueuedState {
  readonly next: 'allow' | 'require';
  /** The digest of its verdict, and of all of the question but its words. */
  readonly bound: string;
  /** The digest of which question it is, and of who asks. */
  readonly question: string;
  /** Null: it is to be allowed. */
  readonly requirement: Requirement | null;
  readonly words: ApprovalState['words'];
}

/** Whether a call may run, apart from its execution. */
export type Permission =
  'allowed' | 'awaiting' | 'approved' | 'blocked' | 'denied' | 'expired' | 'lapsed' | 'cancelled';

/** The execution of a call. `attempt` is 0 before the first claim. */
export interface ExecutionState {
  readonly status: 'none' | 'claimed' | 'released' | 'unknown' | 'ended';
  readonly attempt: number;
  readonly claimedBy: string | null;
  readonly leaseUntil: string;
  /** Only a lease that ended lets a late report in, a person's order to try again does not. */
  readonly isLapsed: boolean;
}

/** What the judge remembers of one call's stream. Plain data, so that a verifier may put it aside. */
export interface CallState {
  readonly kind: 'call';
  readonly request: RequestFacts;
  readonly permission: Permission;
  /** The call could have run before people were asked about it. */
  readonly wasAllowed: boolean;
  readonly isJudged: boolean;
  /** The call waits for its turn; null: it does not wait. */
  readonly queued: QueuedState | null;
  readonly isShadowJudged: boolean;
  readonly isCommitted: boolean;
  /** The digest of the action that may run. */
  readonly actionDigest: string;
  /** When the right to the first claim ends; null: it does not. */
  readonly executeBy: string | null;
  readonly approval: ApprovalState | null;
  /** Who agreed to each approval that was approved, by its id. Absent: none was. */
  readonly approvedBy?: Readonly<Record<string, readonly string[]>>;
  /** Digests of edits, which events of version 1 may ask about again. */
  readonly edits: readonly string[];
  readonly execution: ExecutionState;
  /** The first verdict about it. Absent: there is none yet. */
  readonly first?: FirstVerdict;
  /** Its number in its run. Absent: not known. */
  readonly place?: number;
  /** When its last event was recorded. Absent: it has none. */
  readonly recordedAt?: string;
  /** By how many milliseconds the event that began the limit that runs was recorded later than it says. Absent: by none. */
  readonly lateMs?: number;
  /** How many backups had been restored when it was permitted, or got its place, last. Absent: none. */
  readonly restores?: number;
  /** How many starts of a standalone server were recorded before its latest question. Absent: none. */
  readonly starts?: number;
  /** The nonces of the signatures of all responses, withdrawn ones too. */
  readonly nonces: readonly string[];
}
