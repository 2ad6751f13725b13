import type {
  ApprovalState,
  LogEvent,
  PlaceInRun,
  Risk,
  ToolCallState,
  UnreadableStream,
} from '@countersign/contracts';
import type { Approval } from '@countersign/domain';
import type { CallRow } from './call-row.js';
import type { BlockReads } from './event-blocks.js';
import type { GrantReads } from './grants.js';
import type { PlaceReads } from './log-source.js';

/** An approval together with the call that it is about. */
export interface ApprovalOfCall {
  readonly call: CallRow;
  readonly approval: Approval;
}

/** The filters of `listApprovals`, joined by "and". */
export interface ApprovalsQuery {
  /** Default `pending`. */
  readonly state?: ApprovalState | undefined;
  readonly toolName?: string | undefined;
  readonly runId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly requestedBy?: string;
  /**
   * Approvals that a member of this group may respond to in their current stage, including those open to every
   * approver.
   */
  readonly group?: string | undefined;
  readonly toolCallId?: string | undefined;
  /** This principal has responded, and has not withdrawn it. */
  readonly respondedBy?: string | undefined;
  /** The rule of the verdict that asks. */
  readonly ruleId?: string | undefined;
  readonly risk?: Risk | undefined;
  /** All of these. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Requested at or after this time, and at or before the other one, epoch milliseconds. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** Each of these words, without regard to case, is in the name of the tool, the agent or the run, the reason or the description. */
  readonly words?: readonly string[] | undefined;
  /** A last filter. MUST give the same result for the same approval within one call. */
  readonly only?: ((row: ApprovalOfCall) => boolean) | undefined;
  /** Default `requestedAt`. */
  readonly sort?: ApprovalsSort | undefined;
  /**
   * Default `oldest`: the oldest request first; by `expiresAt` the earliest end first, those without one last; by
   * `risk` the highest first, those without one last. `newest` reverses it.
   */
  readonly order?: 'oldest' | 'newest' | undefined;
  /** Default 100. */
  readonly limit?: number | undefined;
  /** The `nextCursor` of the page before, in the same order. */
  readonly cursor?: string | undefined;
}

/** What approvals can be sorted by. */
export type ApprovalsSort = 'requestedAt' | 'expiresAt' | 'risk';

/** One page of a list. */
export type Page<Row> =
  | {
      readonly status: 'page';
      readonly rows: readonly Row[];
      /** Null: there was no further one at `position`. */
      readonly nextCursor: string | null;
      /** The position of the log that the page shows. */
      readonly position: number;
    }
  | { readonly status: 'invalid-cursor' };

/** One page of approvals. */
export type ApprovalsPage = Page<ApprovalOfCall>;

/** The filters of `listCalls`, joined by "and". */
export interface CallsQuery {
  /** Any of these. Default: every state. */
  readonly states?: readonly ToolCallState[] | undefined;
  readonly toolName?: string | undefined;
  readonly runId?: string | undefined;
  readonly agentId?: string | undefined;
  /** The principal that requested the call. */
  readonly requestedBy?: string | undefined;
  /** Requested at or after this time, epoch milliseconds. */
  readonly sinceMs?: number | undefined;
  /** The order by request. Default: the newest first. */
  readonly order?: 'oldest' | 'newest' | undefined;
  /** Default 100. */
  readonly limit?: number | undefined;
  /** The `nextCursor` of the page before, in the same order. */
  readonly cursor?: string | undefined;
}

/** The filters of `listRuns`, joined by "and". */
export interface RunsQuery {
  readonly agentId?: string | undefined;
  readonly requestedBy?: string | undefined;
  /** Default 100. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** The open calls of one agent in a run, for one principal. */
export interface OpenRun {
  readonly runId: string;
  readonly agentId: string;
  readonly requestedBy: string;
  /** The calls that are not settled. */
  readonly openCalls: number;
  readonly pendingApprovals: number;
  /** When the last event of these calls was recorded. */
  readonly lastEventAt: string;
}

/** A call that is not settled, and the principal that requested it. */
export interface OpenCall {
  readonly callId: string;
  readonly requestedBy: string;
  /** It is sequential, and waits for calls before it. */
  readonly waitsForTurn?: true;
}

/** The open calls of a run and of those inside it. */
export interface OpenCallsOfRun {
  /** In the order of their requests. */
  readonly calls: readonly OpenCall[];
  /** Every principal that requested a call of the run, settled or not; none when there is no such run. */
  readonly requesters: readonly string[];
}

/** A call with a due deadline. The decider decides what follows. */
export interface DueCall {
  readonly tenant: string;
  readonly callId: string;
  readonly dueAt: number;
}

/** A sequential call that is not settled. */
export interface CallInTurn {
  readonly tenant: string;
  readonly callId: string;
  /** True: its turn has not been recorded. */
  readonly waits: boolean;
  /** The round of a question about it at this place. */
  readonly round: number;
  /** The call of the same principal whose denial ended the run after this one began to wait. Absent: there is none. */
  readonly endedBy?: string;
}

/** A sequential call that cannot be read: it may be running, so others wait for it. */
export interface HeldTurn {
  readonly tenant: string;
  readonly callId: string;
  readonly runId: string;
}

/** The events that `apply` has just made visible. */
export interface Applied {
  readonly events: readonly LogEvent[];
  /** The calls that they changed, each once. */
  readonly callIds: readonly string[];
  readonly position: number;
}

/** Whose approvals are counted: those that a principal requested for one agent, or for any agent. */
export type Counted = { readonly requestedBy: string; readonly agentId?: string };

/** An all-or-nothing batch by the id that its principal gave it, which is unique in its run. */
export interface BatchOfRun {
  readonly requestedBy: string;
  readonly runId: string;
  readonly batchId: string;
}

/** Figures for metrics and readiness, over all tenants. */
export interface ReadModelStats {
  readonly checkpoint: number;
  readonly calls: number;
  readonly approvals: number;
  readonly pendingApprovals: number;
  /** Calls whose outcome is unknown: they wait for a person to reconcile them. */
  readonly unknownOutcomes: number;
  /** When the oldest pending approval was requested; null when none is pending. */
  readonly oldestPendingAt: string | null;
}

/** The facts about a run before its next call. */
export interface RunFacts {
  readonly calls: number;
  readonly denied: number;
  /** The time of its first request; null while there is none. */
  readonly startedAt: string | null;
}

/**
 * The log folded into queryable rows. A replay of the log gives the same rows.
 *
 * MUST for every adapter: what `apply` was given is visible to every read that starts after it returned; the stored
 * checkpoint and its rows are written in one transaction; no read crosses tenants.
 */
export interface ReadModel {
  /** The position of the last event that every read shows. */
  readonly checkpoint: () => number;
  /**
   * Folds events of the log, in order. Those at or below the checkpoint are passed over; those of other streams only
   * move the checkpoint. An event that cannot be read sets its stream aside: no later event of the stream is folded.
   */
  readonly apply: (events: readonly LogEvent[]) => void;
  /**
   * Resolves once the checkpoint is at `position`, at once when it already is; rejects when the model is closed or
   * `signal` aborts.
   */
  readonly reached: (position: number, signal?: AbortSignal) => Promise<void>;
  /** Calls the listener within each `apply`, after the events became visible. Returns a function that removes it. */
  readonly onApplied: (listener: (applied: Applied) => void) => () => void;
  /** Undefined also while only a part of the append that requested the call has been applied. */
  readonly toolCall: (tenant: string, callId: string) => CallRow | undefined;
  /** The principal that requested a call, known from its first event. */
  readonly requesterOf: (tenant: string, callId: string) => string | undefined;
  readonly approval: (tenant: string, approvalId: string) => ApprovalOfCall | undefined;
  /** The calls of a run that `toolCall` would return, in the order of their requests. */
  readonly run: (tenant: string, runId: string) => readonly CallRow[];
  /**
   * Roughly how many bytes `run` would read; 0 when there is no such run. Only the first 65,536 calls of a run are
   * counted.
   */
  readonly runBytes: (tenant: string, runId: string) => number;
  /** The calls of a run that are not settled, and those that the same principal requested inside the run. */
  readonly openCallsOfRun: (tenant: string, runId: string) => OpenCallsOfRun;
  /** The calls that are not settled and run inside a call of the same principal. */
  readonly openCallsInside: (tenant: string, callId: string) => readonly OpenCall[];
  /** The ids of the calls of an all-or-nothing batch, the oldest first, `atMost` of them. */
  readonly callsOfBatch: (tenant: string, batch: BatchOfRun, atMost: number) => readonly string[];
  /** The number of calls of an agent or a principal that wait for people, also for their turn, counted up to `atMost`. */
  readonly pendingOf: (tenant: string, of: Counted, atMost: number) => number;
  /**
   * The times of the latest denials of an agent or a principal, `atMost` of them, without an approval by a person in between. Their order
   * is that of the requests, the latest first.
   */
  readonly denialsInARow: (tenant: string, of: Counted, atMost: number) => readonly string[];
  readonly factsOfRun: (tenant: string, runId: string, callId?: string) => RunFacts;
  /**
   * The number of a call in its run and how many calls the run has; undefined for a call that
   * `toolCall` would not return, and for one in a run of more than 65,536 calls.
   */
  readonly placeInRun: (tenant: string, callId: string) => PlaceInRun | undefined;
  /**
   * A page ends early, and may be empty before the last one, when the rows that were read have more than 8 MiB together
   * or are 2,000, so that no page stalls or fills the process.
   */
  readonly listApprovals: (tenant: string, query: ApprovalsQuery) => ApprovalsPage;
  /** Calls of any state, in pages that end early like those of `listApprovals`. */
  readonly listCalls: (tenant: string, query: CallsQuery) => Page<CallRow>;
  /** The runs that have open calls, one row for each agent and principal; the run whose first call is the latest first. */
  readonly listRuns: (tenant: string, query: RunsQuery) => Page<OpenRun>;
  readonly grants: GrantReads;
  readonly unreadable: UnreadableReads;
  /** The calls of all tenants whose deadline is at or before `atMs`, the earliest first. */
  readonly due: (atMs: number, limit: number) => readonly DueCall[];
  /** The earliest deadline of all, epoch milliseconds; null when there is none. Cheap enough to ask after every `apply`. */
  readonly nextDueAt: () => number | null;
  /** The first call that is not settled in the queue of a sequential call; undefined: there is none. */
  readonly firstInQueueOf: (tenant: string, callId: string) => CallInTurn | undefined;
  /** The calls of all tenants that wait for their turn although no call is before them. */
  readonly turnsToTake: () => readonly CallInTurn[];
  /** The sequential calls of all tenants that cannot be read, and for which others of their run wait. */
  readonly turnsHeld: () => readonly HeldTurn[];
  readonly stats: () => ReadModelStats;
  /** The tenants that have pending approvals. */
  readonly tenantsAsked: () => readonly string[];
  /** The tenants that have calls. */
  readonly tenants: () => readonly string[];
  /** How many pending approvals of all tenants were requested at or before a time, epoch milliseconds. */
  readonly pendingSince: (atMs: number) => number;
  readonly places: PlaceReads;
  readonly blocks: BlockReads;
  /** Writes the changes in memory to the file. Reads do not need it; a clean stop (`close`) does it. */
  readonly flush: () => void;
  readonly close: () => void;
}

/** The streams that are set aside. They are few, so all of them are in memory. */
export interface UnreadableReads {
  readonly find: (stream: string) => UnreadableStream | undefined;
  /** Of all tenants, in the order of the log. */
  readonly all: () => readonly UnreadableStream[];
}
