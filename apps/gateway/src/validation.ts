import { ProblemError } from '@countersign/shell';
import type { FieldProblem } from '@countersign/shell';
import type { z } from 'zod';

/**
 * The value as the schema knows it.
 * @throws ProblemError `invalid-request` naming every offending path, each unknown key by itself.
 */
export function parseWith<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalidRequest(result.error.issues.flatMap(toFieldProblems));
}

const errorsMax = 1000;
const detailLengthMax = 2000;

/** The problem of a request with things wrong at these paths. */
export function invalidRequest(errors: readonly FieldProblem[]): ProblemError {
  const detail = errors.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  return new ProblemError('invalid-request', detail.slice(0, detailLengthMax), { errors: errors.slice(0, errorsMax) });
}

function toFieldProblems(issue: z.core.$ZodIssue): FieldProblem[] {
  const path = issue.path.map(String).join('.');
  if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
  return issue.keys.map((key) => ({ path: path === '' ? key : `${path}.${key}`, message: 'is not known here' }));
}
