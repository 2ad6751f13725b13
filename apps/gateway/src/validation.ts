import { ProblemError, describeFieldProblems, toFieldProblems } from '@countersign/shell';
import type { FieldProblem } from '@countersign/shell';
import type { z } from 'zod';

/**
 * The value as the schema knows it.
 * @throws ProblemError `invalid-request` naming every offending path, each unknown key by itself.
 */
export function parseWith<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalidRequest(toFieldProblems(result.error));
}

const errorsMax = 1000;

/** The problem of a request with things wrong at these paths. */
export function invalidRequest(errors: readonly FieldProblem[]): ProblemError {
  return new ProblemError('invalid-request', describeFieldProblems(errors), { errors: errors.slice(0, errorsMax) });
}
