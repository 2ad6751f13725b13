import type { ErrorCode, Refusal } from '@countersign/contracts';
import { statusOf, toProblem } from '@countersign/shell';

/** What a request is answered with, before it is HTTP. */
export interface Answer {
  readonly status: number;
  /** Anything that JSON can hold; a problem document where the status is 400 or above. */
  readonly body: unknown;
  /** Where the log stood when a write was done. */
  readonly position?: number;
  /** The code of a "no". */
  readonly code?: ErrorCode;
}

/** A read's answer. */
export function ok(body: unknown): Answer {
  return { status: 200, body };
}

/** A write's answer: `position` lets the client read it back from any gateway. */
export function written(status: 200 | 201, body: unknown, position: number): Answer {
  return { status, body, position };
}

/** A "no" as an answer. */
export function refused(refusal: Refusal): Answer {
  return { status: statusOf(refusal.code), body: toProblem(refusal), code: refusal.code };
}
