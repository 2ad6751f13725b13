import { ProblemError, describeFieldErrors, toFieldErrors } from '@countersign/shell';
import type { FieldError } from '@countersign/contracts';
import type { z } from 'zod';

/**
 * Who sees the values of sensitive fields: the principal that requested the call, and auditors. In the inbox an auditor
 * who is also an approver sees the masked view, since other people may see the screen.
 */
export function parseWith<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalidRequest(toFieldErrors(result.error));
}

const errorsMax = 1000;

/** The problem of a request with things wrong at these paths. */
export function invalidRequest(errors: readonly FieldError[]): ProblemError {
  return new ProblemError('invalid-request', describeFieldErrors(errors), { errors: errors.slice(0, errorsMax) });
}
