import type { JsonValue, PlaceInRun } from '@countersign/contracts';
import type { BatchFate, ByOwner, Timed } from './tool-call.command-base.js';

/** A resolver wants the right to execute. */
export interface ClaimExecution extends Timed {
  readonly type: 'ClaimExecution';
  /** MUST be the id of the call whose state decides. */
  readonly callId: string;
  readonly resolverId: string;
  readonly claimedBy: string;
  readonly leaseMs: number;
  /** Recomputed by the claimer over the arguments that it is about to pass. */
  readonly actionDigest: string;
  /** The same for all attempts of a call. */
  readonly idempotencyKey: string;
  /** The id of this command. Only a retry of the command that made the latest claim gets that claim again. */
  readonly claimId: string;
  /** The log was restored from a backup: the claim takes the right to run away, also from the client that executes the call. */
  readonly isRestored?: true;
  /** The place of the call in its run now, for its receipt. Default: not known. */
  readonly seq?: PlaceInRun | undefined;
  /** The state of the call's batch, if it has one. */
  readonly batch?: BatchFate;
}

/** The holder of a claim needs more time. */
export interface RenewClaim extends Timed {
  readonly type: 'RenewClaim';
  readonly attempt: number;
  readonly leaseMs: number;
}

/** How an execution ended. */
export type Outcome =
  | { readonly status: 'succeeded'; readonly output: JsonValue }
  | { readonly status: 'failed'; readonly error: JsonValue };

/** The claimer reports how the execution ended. */
export interface ReportExecution extends Timed {
  readonly type: 'ReportExecution';
  readonly attempt: number;
  readonly outcome: Outcome;
  readonly reportedBy: string;
}

/** The lease of a claim is over without a report. */
export interface LapseClaim extends Timed {
  readonly type: 'LapseClaim';
  readonly attempt: number;
  /**
   * The claimer reports that the outcome is unknown for good, so a call that must not run twice need not wait for the
   * end of the lease. An idempotent call waits, which paces its next attempt.
   */
  readonly abandoned?: string;
  /** The log was restored from a backup: whether the call ran, and how often, is unknown, also of an idempotent tool. */
  readonly isRestored?: true;
}

/** A person found out what happened to an execution of unknown outcome. */
export interface ReconcileExecution extends Timed {
  readonly type: 'ReconcileExecution';
  readonly status: 'succeeded' | 'failed' | 'retry';
  readonly note: string;
  readonly reconciledBy: string;
}

/** The client ran the tool itself and submits the output. */
export interface SubmitClientOutput extends ByOwner {
  readonly type: 'SubmitClientOutput';
  readonly outcome: Outcome;
  readonly submittedBy: string;
  /** The state of the call's batch, if it has one. */
  readonly batch?: BatchFate;
}
