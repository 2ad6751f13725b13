import type { JsonObject, PlaceInRun } from '@countersign/contracts';
import type { Counted } from '@countersign/domain';
import type { RunFacts } from '@countersign/policy';

/** A call about which people are being asked. */
export interface PendingCall {
  readonly callId: string;
  readonly toolCallId: string;
  readonly approvalId: string;
  /** The arguments that the agent requested. */
  readonly arguments: JsonObject;
  /** The pointers of the hidden arguments. */
  readonly sensitive: readonly string[];
  /** To what the arguments are relative. Default: nothing. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly requestedBy: string;
}

/** An all-or-nothing batch by the id that its principal gave it. */
export interface BatchOfRun {
  readonly requestedBy: string;
  readonly runId: string;
  readonly batchId: string;
}

/**
 * The recorded history, for quotas and for expressions over the run. In a cluster it is a replica, which may lack the
 * latest events.
 */
export interface History {
  /** The number of pending approvals, counted up to `atMost`. */
  readonly pendingOf: (tenant: string, of: Counted, atMost: number) => number;
  /** The times of the latest denials without an approval by a person in between, `atMost` of them. */
  readonly denialsInARow: (tenant: string, of: Counted, atMost: number) => readonly string[];
  /** The calls of one tool and run that wait for people; null when there are too many to compare. */
  readonly pendingCalls: (
    tenant: string,
    of: Counted & { readonly runId: string; readonly toolName: string },
  ) => readonly PendingCall[] | null;
  /** The ids of the calls of an all-or-nothing batch that the principal named so in a run, `atMost` of them. */
  readonly callsOfBatch: (tenant: string, batch: BatchOfRun, atMost: number) => readonly string[];
  /**
   * The place of a call in its run; undefined when the call is not known here. Waits for a call that a replica does not have
   * yet, for a moment.
   */
  readonly placeInRun?: (tenant: string, callId: string) => PlaceInRun | undefined | Promise<PlaceInRun | undefined>;
  /** `callId`: a call of the run that is recorded; only the calls requested before it count. Default: all. */
  readonly factsOfRun: (tenant: string, runId: string, callId?: string) => RunFacts;
}
