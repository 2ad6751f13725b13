import type { ClaimView, JsonValue, Refusal } from '@countersign/contracts';

/** The facts about a call that the resolver needs before a claim. */
export interface ExecutableCall {
  readonly toolName: string;
  /**
   * True if a claim may succeed now: allowed or approved, not claimed, not lapsed, not for the client to execute. The
   * claim itself checks the siblings.
   */
  readonly claimable: boolean;
  /** The value that was recorded with the request. The tools file may allow more; the agent can only be stricter. */
  readonly idempotent: boolean;
  /** The callIds of the other members of its all-or-nothing batch, which become claimable together. Otherwise empty. */
  readonly siblings: readonly string[];
  /** The approvalIds of its granted approvals, in any later state of the call. */
  readonly granted: readonly string[];
}

export interface ClaimRequest {
  readonly resolverId: string;
  readonly leaseMs: number;
  /** The same for retries of one claim, and never used for another: a retry gets the same claim. */
  readonly commandId: string;
}

/** Signs the receipt of a claim, when a tool needs it. */
export type SignReceipt = () => string | undefined;

/** The right to execute, or why not. Without a key there is no receipt. */
export type ClaimAnswer =
  | { readonly status: 'claimed'; readonly claim: ClaimView; readonly receipt?: SignReceipt | undefined }
  | { readonly status: 'refused'; readonly refusal: Refusal };

/** A "no" is a value; a renewal has the next receipt of its claim. `stale-claim` means that another attempt has begun. */
export type ExecutionAnswer =
  | { readonly status: 'recorded'; readonly receipt?: SignReceipt | undefined }
  | { readonly status: 'refused'; readonly refusal: Refusal };

export type ReportedOutcome =
  | { readonly status: 'succeeded'; readonly output: JsonValue }
  | { readonly status: 'failed'; readonly error: JsonValue };

/**
 * The ledger's commands for the resolver. Each reads the call's own stream, never a replica, and resolves only when its
 * event is durable: a claim is acknowledged before the tool runs.
 * @throws ExecutionsUnavailableError when there is no response now; the resolver retries with the same command id.
 */
export interface Executions {
  /** The call, or `undefined` when that tenant has no such call. */
  readonly find: (tenant: string, callId: string) => Promise<ExecutableCall | undefined>;
  readonly claim: (tenant: string, callId: string, request: ClaimRequest) => Promise<ClaimAnswer>;
  readonly renew: (
    tenant: string,
    callId: string,
    renewal: { readonly attempt: number; readonly leaseMs: number },
  ) => Promise<ExecutionAnswer>;
  /** A repeat of the same report adds nothing. */
  readonly report: (
    tenant: string,
    callId: string,
    outcome: { readonly attempt: number } & ReportedOutcome,
  ) => Promise<ExecutionAnswer>;
  /**
   * Records that the outcome of this attempt is unknown for good. Without it the claim is no longer renewed, and the
   * end of its lease has the same effect.
   */
  readonly abandon?: (
    tenant: string,
    callId: string,
    abandoned: { readonly attempt: number; readonly reason: string },
  ) => Promise<ExecutionAnswer>;
}

/** The ledger does not respond now. The call itself has no known problem. */
export class ExecutionsUnavailableError extends Error {
  override readonly name = 'ExecutionsUnavailableError';
}
