import { problemSchema } from '@countersign/contracts';
import type { z } from 'zod';

/** The body of an error response (RFC 9457). */
export type Problem = z.infer<typeof problemSchema>;

/** The parts of a `CountersignError`. */
export interface CountersignErrorDetails {
  readonly code: string;
  readonly message: string;
  readonly status?: number;
  readonly problem?: Problem;
  readonly cause?: unknown;
}

/**
 * Everything that Countersign answers with "no", or that keeps it from answering.
 *
 * `code` is stable: the codes of the HTTP contract (`tool-call-mismatch`, `already-resolved`, …), and those of the SDK's
 * own, such as `unreachable` (no answer after all attempts), `unreadable-response` (an answer that is not Countersign's)
 * and `state-not-bound` (a state of another user).
 *
 * @example
 * try {
 *   await client.respond(approvalId, { decision: { type: 'deny' }, reason: 'Freeze until Monday', ...shown });
 * } catch (error) {
 *   const isLate = error instanceof CountersignError && ['already-resolved', 'expired'].includes(error.code);
 *   if (!isLate) throw error;
 * }
 */
export class CountersignError extends Error {
  override readonly name = 'CountersignError';
  readonly code: string;
  /** The HTTP status; null when there was no response. */
  readonly status: number | null;
  /** The whole problem document; null when the response was none. */
  readonly problem: Problem | null;

  constructor(details: CountersignErrorDetails) {
    super(details.message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code;
    this.status = details.status ?? null;
    this.problem = details.problem ?? null;
  }
}

/** Returns whether an error is a refusal by Countersign with one of these codes. */
export function isRefusal(error: unknown, ...codes: readonly string[]): error is CountersignError {
  return error instanceof CountersignError && codes.includes(error.code);
}

/** Returns whether another server answered in place of Countersign, such as a proxy with a page of its own. */
export function isNotOurs(error: unknown): boolean {
  return error instanceof CountersignError && error.status !== null && error.problem === null;
}

/** The message of any thrown value, also of one that is no Error. Never throws. */
export function messageOf(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown.toWellFormed();
  const message = textOf(thrown, 'message');
  if (message !== '') return message;
  return thrown instanceof Error ? nameOf(thrown) : `thrown ${typeof thrown}`;
}

/** The name of any thrown value. Never throws. */
export function nameOf(thrown: unknown): string {
  return textOf(thrown, 'name') || 'Error';
}

/** A member that is a text; empty when there is none. */
function textOf(thrown: unknown, member: 'message' | 'name'): string {
  try {
    const text: unknown = (thrown as Readonly<Record<string, unknown>> | null | undefined)?.[member];
    return typeof text === 'string' ? text.toWellFormed() : '';
  } catch {
    return '';
  }
}

/** The error for a response other than 2xx. */
export function errorOfAnswer(status: number, body: unknown): CountersignError {
  const parsed = problemSchema.safeParse(body);
  if (!parsed.success) {
    return new CountersignError({
      // A proxy that takes no body of this size says so without a problem.
      code: status === 413 ? 'payload-too-large' : `http-${String(status)}`,
      status,
      message: isOther(status) ? notOurs(status) : `Countersign answered ${String(status)}`,
    });
  }
  const { code, detail } = parsed.data;
  return new CountersignError({ code, status, problem: parsed.data, message: `${code}: ${detail}` });
}

/** A redirect or a refusal without a problem is another server's; an overload or a failure may be that of a proxy. */
function isOther(status: number): boolean {
  return status < 500 && status !== 429;
}

/** The message for an answer that is not Countersign's. */
export function notOurs(status: number): string {
  return `an answer with status ${String(status)} that is not Countersign's: is the URL right?`;
}
