import type { ErrorCode, Refusal } from '@countersign/contracts';
import { statusOf, toProblem } from '@countersign/shell';

/** The response to a request, before HTTP. */
export interface Answer {
  readonly status: number;
  /** Any JSON value; a problem document when the status is 400 or above. */
  readonly body: unknown;
  /** The position of the log after a write. */
  readonly position?: number;
  /** An earlier request with the same idempotency key was this command. */
  readonly isRepeat?: boolean;
  /** The code of a "no". */
  readonly code?: ErrorCode;
}

/** The response to a read. */
export function ok(body: unknown): Answer {
  return { status: 200, body };
}

/** The response to a write. With `position` a client reads its own write from any gateway. */
export function written(status: 200 | 201 | 202, body: unknown, position: number): Answer {
  return { status, body, position };
}

/** The response for a refusal. */
export function refused(refusal: Refusal): Answer {
  return { status: statusOf(refusal.code), body: toProblem(refusal), code: refusal.code };
}
