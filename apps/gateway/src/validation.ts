import { requestWords } from '@countersign/contracts';
import { ProblemError, describeFieldErrors, toFieldErrors } from '@countersign/shell';
import type { FieldError } from '@countersign/contracts';
import type { z } from 'zod';

/**
 * Validates a value with a schema.
 * @throws ProblemError `invalid-request` naming every offending path, each unknown key separately.
 */
export function parseWith<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value, { error: requestWords });
  if (result.success) return result.data;
  throw invalidRequest(toFieldErrors(result.error));
}

const errorsMax = 1000;

/** The problem of a request with things wrong at these paths. */
export function invalidRequest(errors: readonly FieldError[]): ProblemError {
  return new ProblemError('invalid-request', describeFieldErrors(errors), { errors: errors.slice(0, errorsMax) });
}
