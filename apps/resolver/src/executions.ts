import type { ClaimView, JsonValue, Refusal } from '@countersign/contracts';

/** What the resolver must know of a call before it claims it. */
export interface ExecutableCall {
  readonly toolName: string;
  /**
   * Whether a claim may succeed now: allowed or approved, not claimed, not lapsed, not for the client to execute. The
   * siblings are not looked at; the claim does that.
   */
  readonly claimable: boolean;
  /** As recorded with the request: the tools file may say more, the agent can only be stricter. */
  readonly idempotent: boolean;
  /** The callIds of the other members of its all-or-nothing batch: they become claimable together. Else empty. */
  readonly siblings: readonly string[];
  /** The approvalIds of its approvals that were granted, whatever became of the call after that. */
  readonly granted: readonly string[];
}

export interface ClaimRequest {
  readonly resolverId: string;
  readonly leaseMs: number;
  /** The same for repeats of one claim whose answer was lost, and never used by another: a repeat gets the same claim. */
  readonly commandId: string;
}

/** The right to execute, or why not. */
export type ClaimAnswer =
  { readonly status: 'claimed'; readonly claim: ClaimView } | { readonly status: 'refused'; readonly refusal: Refusal };

/** A "no" is a value; `stale-claim` means that another attempt has begun. */
export type ExecutionAnswer =
  { readonly status: 'recorded' } | { readonly status: 'refused'; readonly refusal: Refusal };

export type ReportedOutcome =
  | { readonly status: 'succeeded'; readonly output: JsonValue }
  | { readonly status: 'failed'; readonly error: JsonValue };

/**
 * The commands of the ledger that the resolver gives. Each answers from the call's own stream, never from a copy, and
 * resolves only when its event is durable: a claim is acknowledged before the tool runs.
 * @throws ExecutionsUnavailableError when there is no answer now; the resolver asks again with the same command id.
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
   * Says that nobody will ever know the outcome of this attempt. Without it the claim is no longer renewed, and the end
   * of its lease says the same.
   */
  readonly abandon?: (
    tenant: string,
    callId: string,
    abandoned: { readonly attempt: number; readonly reason: string },
  ) => Promise<ExecutionAnswer>;
}

/** No answer from the ledger now; nothing is known to be wrong with the call. */
export class ExecutionsUnavailableError extends Error {
  override readonly name = 'ExecutionsUnavailableError';
}
