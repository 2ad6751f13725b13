import type { ErrorCode, FieldError, Refusal } from '@countersign/contracts';

/** RFC 9457 problem details. Extra members are at the top level. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  /** The `Request-Id` of the request. */
  readonly instance?: string;
  readonly errors?: readonly FieldError[];
}

/** The HTTP status of each code. Every code has a row; only this table knows statuses. */
const table: Readonly<Record<ErrorCode, readonly [status: number, title: string]>> = {
  'invalid-request': [400, 'The request is not valid'],
  'reason-required': [400, 'A reason is required'],
  unauthenticated: [401, 'Authentication is required'],
  forbidden: [403, 'Not allowed'],
  'own-request': [403, 'The requester cannot approve their own request'],
  'not-an-approver': [403, 'Not an approver of this approval'],
  'signature-required': [403, 'A signature is required'],
  'not-found': [404, 'Not found'],
  'unknown-approval': [404, 'There is no such approval'],
  'method-not-allowed': [405, 'Method not allowed'],
  'not-acceptable': [406, 'Not acceptable'],
  expired: [410, 'The approval has expired'],
  'payload-too-large': [413, 'The request is too large'],
  'unsupported-media-type': [415, 'The content type is not supported'],
  'misdirected-request': [421, 'This host is not served'],
  'invalid-arguments': [422, 'The arguments do not fit the tool'],
  'decision-not-allowed': [422, 'This decision is not allowed here'],
  'too-many-requests': [429, 'Too many requests'],
  'internal-error': [500, 'Something went wrong'],
  unavailable: [503, 'Temporarily unavailable'],
  'tool-call-mismatch': [409, 'The tool call is recorded with other arguments'],
  'not-requested': [409, 'The tool call was not requested'],
  'already-resolved': [409, 'The approval is already resolved'],
  'already-pending': [409, 'An approval is already pending'],
  'already-voted': [409, 'Already voted'],
  'digest-mismatch': [409, 'The action is not the one that was shown'],
  'blocked-by-policy': [409, 'The policy blocks this'],
  'not-due': [409, 'Not due'],
  'already-claimed': [409, 'The tool call is already claimed'],
  'already-settled': [409, 'The tool call is already settled'],
  'not-approved': [409, 'The tool call is not approved'],
  'approval-lapsed': [409, 'The approval has lapsed'],
  'batch-incomplete': [409, 'The batch is not complete'],
  stopped: [409, 'Stopped'],
  'batch-begun': [409, 'The batch has begun'],
  'stale-claim': [409, 'The claim is not in force'],
  'not-unknown': [409, 'The outcome is not unknown'],
  'not-client-executed': [409, 'The client does not execute this tool'],
  'grant-ended': [409, 'The grant has ended'],
  'no-approver-left': [409, 'No approver is left'],
  'too-many': [409, 'The history is full'],
  'calls-open': [409, 'Calls of the subject are open'],
  'not-supported': [409, 'Not supported here'],
  unreadable: [409, 'The log has an event that cannot be read'],
  'idempotency-key-reused': [409, 'The idempotency key was used for another request'],
  'future-position': [409, 'The log has not given out this position'],
};

/** The HTTP status of a code. */
export function statusOf(code: ErrorCode): number {
  return table[code][0];
}

/** The short description of a code. */
export function titleOf(code: ErrorCode): string {
  return table[code][1];
}

/** When a refused request may be repeated, in whole seconds, as the header `Retry-After` says it. */
export function retryAfter({ extra = {} }: Pick<Refusal, 'extra'>): string {
  const { retryAfterMs } = extra;
  return String(typeof retryAfterMs === 'number' ? Math.max(1, Math.ceil(retryAfterMs / 1000)) : 1);
}

/** The problem document of a "no". */
export function toProblem({ code, detail, extra, errors }: Refusal): Problem {
  const [status, title] = table[code];
  return {
    // The extra members come first, so they can never replace the standard ones.
    ...extra,
    type: `/problems/${code}`,
    title,
    status,
    code,
    detail,
    ...(errors === undefined ? {} : { errors }),
  };
}

/** A "no" thrown where no value can be returned: while the request is read, or by a guard. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly refusal: Refusal;

  constructor(code: ErrorCode, detail: string, more: Omit<Refusal, 'code' | 'detail'> = {}) {
    super(detail);
    this.refusal = { code, detail, ...more };
  }
}
