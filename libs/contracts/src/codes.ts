/** The decider's ways to say no. Stable: integrators branch on them. */
export const refusalCodes = [
  'forbidden',
  'tool-call-mismatch',
  'not-requested',
  'already-resolved',
  'already-pending',
  'unknown-approval',
  'expired',
  'not-an-approver',
  'own-request',
  'already-voted',
  'digest-mismatch',
  'invalid-arguments',
  'decision-not-allowed',
  'reason-required',
  'blocked-by-policy',
  'not-due',
  'already-claimed',
  'already-settled',
  'not-approved',
  'approval-lapsed',
  'batch-incomplete',
  'batch-begun',
  'stale-claim',
  'not-unknown',
  'not-client-executed',
  'grant-ended',
  'no-approver-left',
  'signature-required',
  'too-many',
  'stopped',
] as const;

/** A stable code of a refusal. */
export type RefusalCode = (typeof refusalCodes)[number];

/** The codes that the edge adds: what never reached the decider, or could not be carried out. */
export const edgeCodes = [
  'invalid-request',
  'unauthenticated',
  'not-found',
  'method-not-allowed',
  'not-acceptable',
  'misdirected-request',
  'payload-too-large',
  'unsupported-media-type',
  'idempotency-key-reused',
  'future-position',
  'calls-open',
  'not-supported',
  'unreadable',
  'too-many-requests',
  'internal-error',
  'unavailable',
] as const;

/** A stable code of the API. */
type EdgeCode = (typeof edgeCodes)[number];

/** Every code that an error of ours can carry. */
export type ErrorCode = RefusalCode | EdgeCode;

/** One error of a request, at a path such as `calls.0.arguments.amount`. */
export interface FieldError {
  readonly path: string;
  readonly message: string;
}

/** A "no": a value, never an exception. `detail` is for people, the rest for programs. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly detail: string;
  /** Members added to the problem document, such as the winning response of `already-resolved`. */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
  readonly errors?: readonly FieldError[] | undefined;
}
